// Applied fields that others own with another value: who, where, and how it is told.

import * as apierrors from '../../machinery/apierrors.ts';
import { quote } from '../../machinery/go-format.ts';
import { FieldSet } from './field-set.ts';
import type { Path } from './field-set.ts';
import { managerId } from './managers.ts';
import type { Manager } from './managers.ts';
import { compareText, describePath } from './path-element.ts';

export interface Conflict {
  readonly manager: Manager;
  readonly path: Path;
}

/** Thrown when something is applied without force. */
export class ConflictsError extends Error {
  /** Not empty; by manager, then by path. */
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[]) {
    super(conflictMessage(conflicts));
    this.name = 'ConflictsError';
    this.conflicts = conflicts;
  }

  toSet(): FieldSet {
    return FieldSet.of(...this.conflicts.map(({ path }) => path));
  }

  /** 409, with a cause for each field. */
  toStatus(): apierrors.StatusError {
    const causes = this.conflicts.map(({ manager, path }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${describeManager(manager)}`,
      field: describePath(path),
    }));
    return apierrors.applyConflict(causes, this.message);
  }
}

/** `owned`: what each manager owns of the fields that would change. */
export function conflictsOf(owned: readonly { readonly manager: Manager; readonly fields: FieldSet }[]): Conflict[] {
  return owned
    .toSorted((a, b) => compareText(managerId(a.manager), managerId(b.manager)))
    .flatMap(({ manager, fields }) => [...fields.paths()].map((path) => ({ manager, path })));
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(first.manager)}: ${describePath(first.path)}`;
  }
  const lines: string[] = [];
  let previous: Manager | undefined;
  for (const { manager, path } of conflicts) {
    if (manager !== previous) lines.push(`conflicts with ${describeManager(manager)}:`);
    previous = manager;
    lines.push(`- ${describePath(path)}`);
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const name = subresource === '' ? quote(manager) : `${quote(manager)} with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
