// The last decisions of the scheduler, with the scores of the best nodes.

import { type ReactNode, useState } from 'react';
import { TextInput } from '@mantine/core';
import { printable } from '../../data/text/printable.ts';
import { Age, Empty, ErrorBox, Loading, ObjectLink, SeverityMark } from '../../parts/basics.tsx';
import { usePolled, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

const REFRESH_MS = 2000;

interface Decision {
  readonly timeMs: number;
  readonly profile: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly message: string;
  readonly nominatedNode: string;
  readonly evaluatedNodes: number;
  readonly feasibleNodes: number;
  readonly scores: readonly { readonly node: string; readonly score: number }[];
}

export function SchedulerPage(): ReactNode {
  const { extras } = useServices();
  const [filter, setFilter] = useState('');
  const { value, error, reload } = usePolled('scheduler', REFRESH_MS, (signal) =>
    extras.json<{ decisions: readonly Decision[] }>('scheduler', {}, signal),
  );
  const shown = (value?.decisions ?? []).filter(({ namespace, pod, node }) =>
    `${namespace}/${pod} ${node}`.includes(filter.trim()),
  );
  return (
    <>
      <h1 className="page-title">Decisions of the scheduler</h1>
      <div className="toolbar">
        <TextInput
          size="xs"
          aria-label="Pods or nodes that contain"
          placeholder="Pods or nodes that contain …"
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        <span className="muted">
          Scores are kept while this page is shown: decisions of before have none.
        </span>
      </div>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading what="decisions" />}
      {value !== undefined && shown.length === 0 && <Empty>There are no decisions.</Empty>}
      <ul className="decisions">
        {shown.map((decision) => (
          <DecisionLine key={`${decision.uid}/${decision.timeMs}`} decision={decision} />
        ))}
      </ul>
    </>
  );
}

function DecisionLine({ decision }: { readonly decision: Decision }): ReactNode {
  const types = useTypes();
  const { node, scores, nominatedNode } = decision;
  return (
    <li className="decision">
      <SeverityMark severity={node === '' ? 'problem' : 'ok'} />
      <span>
        <span className="muted">{printable(decision.namespace)} / </span>
        <ObjectLink type={types.byId('pods')} namespace={decision.namespace} name={decision.pod} />
      </span>
      <span>
        {node === '' ? (
          printable(decision.message)
        ) : (
          <>
            on <ObjectLink type={types.byId('nodes')} namespace={undefined} name={node} />
          </>
        )}
        {nominatedNode !== '' && ` – makes room on ${printable(nominatedNode)}`}
        <span className="muted">
          {' '}
          {decision.feasibleNodes} of {decision.evaluatedNodes} nodes fit
        </span>
        {scores.length > 0 && (
          <span className="scores">
            {scores.map((each) => (
              <span key={each.node} className={each.node === node ? 'score-chosen' : ''}>
                {printable(each.node)} {each.score}
              </span>
            ))}
          </span>
        )}
      </span>
      <span className="muted">
        <Age time={new Date(decision.timeMs).toISOString()} />
      </span>
    </li>
  );
}
