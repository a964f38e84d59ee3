// What Grafana's own types say of dashboards. The compiler is given a constant of these types for each dashboard and each of its panels; it is never run.
import type { Dashboard } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options as StatOptions } from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type {
  FieldConfig as SeriesFieldConfig,
  Options as SeriesOptions,
} from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';

// JSON has the values of enumerations, not their names, and panels leave out what is the default.
type Json<T> = T extends string
  ? `${T}`
  : T extends Array<infer E>
    ? Array<Json<E>>
    : T extends object
      ? { [K in keyof T]?: Json<T[K]> }
      : T;

export type Board = Json<Dashboard>;
export type Stat = Json<StatOptions>;
export type Series = Json<SeriesOptions>;
export type SeriesField = Json<SeriesFieldConfig>;
