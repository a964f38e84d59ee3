"""The commands of ``treadle``.

A command's module is imported when the command is run, and its line of help stands here, so that ``treadle --help`` does not
load what the scheduler needs.
"""

from cyclopts import App

from treadle import __version__

app = App(
    name="treadle",
    version=__version__,
    help="A batch scheduler for Kubernetes with YARN's queues, shares and explanations.",
)

app.command("treadle.cli.agent:agent", name="agent", help="Tell what the pods of this node use.")
app.command("treadle.cli.apps:apps", name="apps", help="List applications, and what they wait for.")
app.command("treadle.cli.completion:completion", name="completion", help="Print what a shell needs to complete commands.")
app.command(
    "treadle.cli.convert:convert", name="convert", help="Print objects for configuration of YARN, YuniKorn, Kueue or Volcano."
)
app.command("treadle.cli.crds:crds", name="crds", help="Print, write or check the CustomResourceDefinitions.")
app.command("treadle.cli.demo:demo", name="demo", help="Show it all on a pretended cluster, with a live page.")
app.command("treadle.cli.eta:eta", name="eta", help="Tell when an application will start and end.")
app.command("treadle.cli.events:events", name="events", help="List what the scheduler said lately.")
app.command("treadle.cli.explain:explain", name="explain", help="Tell why a pod, an application or a queue waits.")
app.command("treadle.cli.history:history", name="history", help="Show what applications and queues have used.")
app.command("treadle.cli.metrics:metrics", name="metrics", help="Print the metrics there are, or write or check their page.")
app.command("treadle.cli.move:move", name="move", help="Move an application to another queue.")
app.command("treadle.cli.nodes:nodes", name="nodes", help="List nodes, and what of them is taken.")
app.command("treadle.cli.plan:plan", name="plan", help="Print what is promised of a queue, over time.")
app.command("treadle.cli.queues:queues", name="queues", help="Show the tree of queues and what it uses.")
app.command("treadle.cli.reserve:reserve", name="reserve", help="Make a reservation, or ask whether it would be accepted.")
app.command("treadle.cli.run:run", name="run", help="Schedule the pods of a cluster.")
app.command("treadle.cli.top:top", name="top", help="Show the tree of queues again and again.")
app.command("treadle.cli.validate:validate", name="validate", help="Say what applying a file would do, against the live tree.")
