import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// Formats the server's Tables as text, like kubectl.

export interface Table {
  readonly metadata: { readonly resourceVersion: string };
  readonly columnDefinitions:
    | readonly { readonly name: string; readonly priority: number }[]
    | null;
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: KubeObject }[];
}

export interface TableOptions {
  /**
   * Column names in their order, whatever their priority. Default: the columns of priority 0, or
   * all if `wide`.
   */
  readonly columns?: readonly string[];
  readonly wide?: boolean;
}

/** Returns the indexes of the cells to show. Throws if a requested column does not exist. */
export function selectColumns(
  table: Table,
  { columns, wide = false }: TableOptions,
): { names: string[]; indexes: number[] } {
  const definitions = table.columnDefinitions ?? [];
  const indexes =
    columns === undefined
      ? definitions.flatMap(({ priority }, index) => (wide || priority === 0 ? [index] : []))
      : columns.map((wanted) => {
          const index = definitions.findIndex(
            ({ name }) => name.toLowerCase() === wanted.toLowerCase(),
          );
          if (index < 0)
            throw new Error(
              `no column ${wanted}: there are ${definitions.map(({ name }) => name).join(', ')}`,
            );
          return index;
        });
  return {
    names: indexes.map((index) => definitions[index]!.name.toUpperCase()),
    indexes,
  };
}

/** Formats columns with three blanks between them, and no blanks at the ends of lines. */
export function formatRows(rows: readonly (readonly unknown[])[]): string {
  const texts = rows.map((row) =>
    row.map((cell) => (cell === null || cell === undefined ? '' : String(cell))),
  );
  const widths: number[] = [];
  for (const row of texts)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return texts
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
