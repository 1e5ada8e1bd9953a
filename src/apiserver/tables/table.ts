import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// Tables, which `kubectl get` prints. The server decides about columns and cells, so that every
// client shows the same.

export interface TableColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** The format. 'name' marks the column that identifies the row. */
  readonly format?: string;
  readonly description: string;
  /** 0: always shown; other columns are shown only with `-o wide`. */
  readonly priority?: number;
}

export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface TableConvertor<T extends KubeObject = KubeObject> {
  readonly columns: readonly TableColumn[];
  /** Returns one value per column. `now`: in ms, for ages. */
  cells(object: T, now: number): readonly unknown[];
  /** Compares two objects for the order of rows. Default: the order of the list. */
  compare?(a: T, b: T): number;
  /**
   * Returns the conditions of a row. Clients hide rows with a condition by default (pods:
   * Completed).
   */
  conditions?(object: T): readonly TableRowCondition[];
}

/** The table of resources without one of their own. */
/** The time in the row of a bookmark, as Go writes one that is not set. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

export const defaultTable: TableConvertor = {
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'The name of the object, unique within its namespace.',
    },
    { name: 'Created At', type: 'date', description: 'When the object was created.' },
  ],
  cells: ({ metadata }) => [metadata.name, metadata.creationTimestamp ?? ZERO_TIME],
};
