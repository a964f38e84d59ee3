// worker uses as much memory and as many cores as it is told, and then waits for its end. It is all that is in the image of the node tier.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	memory := flag.Int("mebibytes", 0, "memory to hold")
	cores := flag.Int("cores", 0, "cores to keep busy")
	wait := flag.Duration("wait", 0, "how long to use nothing first")
	flag.Parse()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	var held []byte
	select {
	case <-end:
		return
	case <-time.After(*wait):
	}
	if *memory > 0 {
		held = make([]byte, *memory<<20)
		for at := 0; at < len(held); at += 4096 {
			held[at] = 1
		}
	}
	for range *cores {
		go func() {
			for {
			}
		}()
	}
	fmt.Println("holds", len(held)>>20, "MiB and", *cores, "cores")
	<-end
	_ = held
}
