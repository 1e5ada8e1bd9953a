import type { KubeObject } from '../../src/client/client.ts';
export interface Table {
    readonly metadata: {
        readonly resourceVersion: string;
    };
    readonly columnDefinitions: readonly {
        readonly name: string;
        readonly priority: number;
    }[] | null;
    readonly rows: readonly {
        readonly cells: readonly unknown[];
        readonly object: KubeObject;
    }[];
}
export interface TableOptions {
    /** Column names in the order wanted, whatever their priority. Default: those of priority 0, all if `wide`. */
    readonly columns?: readonly string[];
    readonly wide?: boolean;
}
/** Which cells of a row are shown. Throws if a column is asked for that is not there. */
export declare function selectColumns(table: Table, { columns, wide }: TableOptions): {
    names: string[];
    indexes: number[];
};
/** Columns with three blanks between them, and none at the ends of lines. */
export declare function formatRows(rows: readonly (readonly unknown[])[]): string;
