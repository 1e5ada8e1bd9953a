// The pods of a workload, a service or a node, live.

import type { ReactNode } from 'react';
import { podQuery } from '../../data/insight/pods-of.ts';
import { printable } from '../../data/text/printable.ts';
import { collectionPath, typeId } from '../../data/server/resource-type.ts';
import { statusWords } from '../../data/insight/status-words.ts';
import { Age, Empty, ErrorBox, ObjectLink, Section, SeverityMark } from '../../parts/basics.tsx';
import { useLiveList, useTypes } from '../../parts/hooks.ts';
import type { TabProps } from './tab-props.ts';

const LIMIT = 300;

export function Pods({ type, object }: TabProps): ReactNode {
  const types = useTypes();
  const pods = types.byId('pods');
  const query = typeId(type) === 'pods' ? undefined : podQuery(type, object);
  const { items, state, truncated } = useLiveList(
    query === undefined || pods === undefined
      ? undefined
      : collectionPath(pods, object.metadata.namespace ?? ''),
    query,
    LIMIT,
  );
  if (query === undefined) return null;
  if (state.kind === 'failed')
    return (
      <Section title="Pods">
        <ErrorBox error={new Error(state.message)} title="You may not see the pods" />
      </Section>
    );
  const sorted = items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return (
    <Section title={`Pods: ${items.length}${truncated ? ' and more' : ''}`}>
      {items.length === 0 ? (
        <Empty>{state.kind === 'loading' ? 'Loading …' : 'It has no pods.'}</Empty>
      ) : (
        <ul className="pod-list">
          {sorted.map((pod) => {
            const words = statusWords({ apiVersion: 'v1', kind: 'Pod', ...pod });
            return (
              <li key={pod.metadata.uid}>
                <SeverityMark severity={words.severity} />
                <ObjectLink
                  type={pods}
                  namespace={pod.metadata.namespace}
                  name={pod.metadata.name}
                />
                <span className="pod-words">{printable(words.text)}</span>
                <span className="muted">
                  <Age time={pod.metadata.creationTimestamp} />
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Section>
  );
}
