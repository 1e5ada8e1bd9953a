// Places the nodes of a tree from left to right: a column for each depth, a parent in the middle of
// its children.

export interface TreeNode<T> {
  readonly value: T;
  readonly children: readonly TreeNode<T>[];
}

export interface Placed<T> {
  readonly id: string;
  readonly parent: string | undefined;
  readonly value: T;
  readonly column: number;
  /** In rows; halves occur. */
  readonly row: number;
}

/** Returns the nodes of the tree, at most `limit`, parents first. */
export function layoutTree<T>(root: TreeNode<T>, limit: number): readonly Placed<T>[] {
  const placed: Placed<T>[] = [];
  let nextRow = 0;
  let count = 0;
  const visit = (
    node: TreeNode<T>,
    id: string,
    parent: string | undefined,
    column: number,
  ): number => {
    count += 1;
    const index = placed.length;
    placed.push({ id, parent, value: node.value, column, row: 0 });
    const rows: number[] = [];
    node.children.forEach((child, order) => {
      if (count < limit) rows.push(visit(child, `${id}.${order}`, id, column + 1));
    });
    const row = rows.length === 0 ? nextRow++ : (rows[0]! + rows.at(-1)!) / 2;
    placed[index] = { ...placed[index]!, row };
    return row;
  };
  visit(root, '0', undefined, 0);
  return placed;
}
