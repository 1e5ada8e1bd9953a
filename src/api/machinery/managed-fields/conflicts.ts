// Conflicts: applied fields that other managers own with another value, and their messages.

import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import { FieldSet, type Path } from './field-set.ts';
import { managerId, type Manager } from './managers.ts';
import { compareText, describePath } from './path-element.ts';

export interface Conflict {
  readonly manager: Manager;
  readonly path: Path;
}

/** The fields of one manager that an apply would change. */
export interface OwnedFields {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

/** The number of conflicts that are listed in the message and as causes. All are counted. */
const MAX_LISTED = 1000;

/** Thrown by an apply without force. */
export class ConflictsError extends Error {
  /** All fields in conflict, by manager. None of the sets is empty. */
  readonly owned: readonly OwnedFields[];
  /** The conflicts by manager, then by path: at least one, at most MAX_LISTED. */
  readonly conflicts: readonly Conflict[];

  constructor(owned: readonly OwnedFields[]) {
    const sorted = owned.toSorted((a, b) =>
      compareText(managerId(a.manager), managerId(b.manager)),
    );
    const conflicts = firstConflicts(sorted);
    super(
      conflictMessage(
        conflicts,
        sorted.reduce((sum, { fields }) => sum + fields.size, 0),
      ),
    );
    this.name = 'ConflictsError';
    this.owned = sorted;
    this.conflicts = conflicts;
  }

  toSet(): FieldSet {
    return this.owned.reduce((set, { fields }) => set.union(fields), FieldSet.empty);
  }

  /** Returns a 409 with a cause for each listed field. */
  toStatus(): apierrors.StatusError {
    const causes = this.conflicts.map(({ manager, path }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${describeManager(manager)}`,
      field: describePath(path),
    }));
    return apierrors.applyConflict(causes, this.message);
  }
}

function firstConflicts(owned: readonly OwnedFields[]): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const { manager, fields } of owned) {
    for (const path of fields.paths()) {
      if (conflicts.length === MAX_LISTED) return conflicts;
      conflicts.push({ manager, path });
    }
  }
  return conflicts;
}

function conflictMessage(conflicts: readonly Conflict[], count: number): string {
  const [first] = conflicts;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(first.manager)}: ${describePath(first.path)}`;
  }
  const lines: string[] = [];
  let previous: Manager | undefined;
  for (const { manager, path } of conflicts) {
    if (manager !== previous) lines.push(`conflicts with ${describeManager(manager)}:`);
    previous = manager;
    lines.push(`- ${describePath(path)}`);
  }
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const name =
    subresource === ''
      ? quote(manager)
      : `${quote(manager)} with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
