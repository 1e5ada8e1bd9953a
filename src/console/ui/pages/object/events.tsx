// The events of an object, the latest first.

import type { ReactNode } from 'react';
import { durationText } from '../../data/text/age.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { warningOf } from '../../data/insight/problems.ts';
import { collectionPath } from '../../data/server/resource-type.ts';
import { Empty, ErrorBox, Section, SeverityMark } from '../../parts/basics.tsx';
import { useLiveList, useNow, useTypes } from '../../parts/hooks.ts';

const LIMIT = 200;

export function Events({ object }: { readonly object: KubeObject }): ReactNode {
  const types = useTypes();
  const now = useNow(5000);
  const type = types.byId('events');
  const { namespace, uid } = object.metadata;
  // Events of cluster-scoped objects are in the default namespace, those of nodes by name as UID.
  const field =
    object.kind === 'Node'
      ? `involvedObject.kind=Node,involvedObject.name=${object.metadata.name}`
      : `involvedObject.uid=${uid ?? ''}`;
  const { items, state, truncated } = useLiveList(
    type === undefined ? undefined : collectionPath(type, namespace ?? ''),
    { fieldSelector: field },
    LIMIT,
  );
  if (state.kind === 'failed')
    return (
      <Section title="Events">
        <ErrorBox title="You may not see events" error={new Error(state.message)} />
      </Section>
    );
  const events = items
    .map((item) => ({ ...warningOf(item), item }))
    .sort((a, b) => b.last - a.last);
  return (
    <Section title={`Events${events.length > 0 ? `: ${events.length}` : ''}`}>
      {events.length === 0 ? (
        <Empty>{state.kind === 'loading' ? 'Loading …' : 'There are no events.'}</Empty>
      ) : (
        <ul className="events">
          {events.map(({ item, reason, message, count, last }) => (
            <li key={item.metadata.uid}>
              <SeverityMark severity={item['type'] === 'Warning' ? 'problem' : 'neutral'} />
              <span className="event-reason">{printable(reason)}</span>
              <span className="event-message">
                {printable(message)}
                {count > 1 && <span className="muted"> ×{count}</span>}
              </span>
              <span className="muted">{durationText(now - last)}</span>
            </li>
          ))}
        </ul>
      )}
      {truncated && <p className="muted">Only the first {LIMIT} events are shown.</p>}
    </Section>
  );
}
