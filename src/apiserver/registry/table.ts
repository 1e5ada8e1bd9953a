// Tables: what `kubectl get` prints. The server decides on columns and cells, so that every client shows the same.

import type { KubeObject } from '../../client/client.ts';

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
  /** Rows that clients hide unless asked carry a condition (pods: Completed). */
  conditions?(object: T): readonly TableRowCondition[];
}
