// The managers of fields: which program has set what, and when.

import type { ReactNode } from 'react';
import { fieldPaths } from '../../data/text/field-paths.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import type { ManagedFieldsEntry } from '../../data/lists/table.ts';
import { Age, Empty, Section } from '../../parts/basics.tsx';

export function ManagedFieldsTab({ object }: { readonly object: KubeObject }): ReactNode {
  const entries = object.metadata.managedFields ?? [];
  if (entries.length === 0) return <Empty>The server keeps no owners of these fields.</Empty>;
  return (
    <div className="stack">
      {entries.map((entry) => {
        const paths = fieldPaths(entry.fieldsV1 ?? {});
        const key = `${entry.manager}/${entry.operation}/${entry.subresource}/${entry.apiVersion}`;
        return (
          <Section
            key={key}
            title={printable(titleOf(entry))}
            actions={
              <span className="muted">
                {paths.length} fields, <Age time={entry.time} /> ago
              </span>
            }
          >
            <ul className="field-paths">
              {paths.map((path) => (
                <li key={path}>{printable(path)}</li>
              ))}
            </ul>
          </Section>
        );
      })}
    </div>
  );
}

const titleOf = ({ manager = '', operation = '', subresource }: ManagedFieldsEntry): string =>
  `${manager} (${operation}${subresource === undefined ? '' : ` of ${subresource}`})`;
