// Explanations as the server returns them (src/client/explain).

import type { TreeNode } from './tree-layout.ts';

export type CauseSeverity = 'problem' | 'waiting' | 'ok' | 'info';

export interface CauseObject {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Cause {
  readonly severity: CauseSeverity;
  readonly text: string;
  readonly source?: string;
  readonly object?: CauseObject;
  readonly causes: readonly Cause[];
}

export interface Explanation {
  readonly object: CauseObject;
  readonly tree: Cause;
  readonly because: readonly Cause[];
  readonly owners: readonly Cause[];
  readonly unread: Readonly<Record<string, string>>;
}

/** Returns the picture's tree: the owners from the top, the object, its causes. */
export function pictureOf({ tree, owners }: Explanation): TreeNode<Cause> {
  const self = toNode(tree);
  return owners.reduce<TreeNode<Cause>>(
    (below, owner) => ({ value: owner, children: [below] }),
    self,
  );
}

const toNode = (cause: Cause): TreeNode<Cause> => ({
  value: cause,
  children: cause.causes.map(toNode),
});
