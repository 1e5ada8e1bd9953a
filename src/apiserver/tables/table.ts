import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// Tables: what `kubectl get` prints. The server decides on columns and cells, so that every client shows the same.

export interface TableColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** 'name' marks the column that identifies the row. */
  readonly format?: string;
  readonly description: string;
  /** 0 is always shown, others only with `-o wide`. */
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
  /** One value per column. `now` in milliseconds, for ages. */
  cells(object: T, now: number): readonly unknown[];
  /** The order of a list's rows. Default: that of the list. */
  compare?(a: T, b: T): number;
  /** Rows that clients hide unless asked carry a condition (pods: Completed). */
  conditions?(object: T): readonly TableRowCondition[];
}

/** What resources have that do not say otherwise. */
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
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
};
