// The first page: what is wrong, then how much there is.

import { Anchor, Button, Paper } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { durationText } from '../data/text/age.ts';
import { messageOf } from '../data/server/api-error.ts';
import type { KubeObject } from '../data/lists/live-object.ts';
import type { Types } from '../data/server/discovery.ts';
import { joinedTables, type TableSnapshot } from '../data/lists/live-table.ts';
import { printable } from '../data/text/printable.ts';
import { type Problem, problemsOf, type Warning, warningOf } from '../data/insight/problems.ts';
import { collectionPath } from '../data/server/resource-type.ts';
import { listRoute, objectRoute } from '../data/server/routes.ts';
import {
  Age,
  Empty,
  Loading,
  ObjectLink,
  PlainTable,
  Section,
  SeverityMark,
} from '../parts/basics.tsx';
import {
  useExtra,
  useLiveList,
  useNow,
  usePolled,
  usePreferences,
  useTableRows,
  useTypes,
} from '../parts/hooks.ts';
import { useServices } from '../services.ts';

const COUNT_MS = 15_000;
const FIRST_PROBLEMS = 12;
const MAX_PROBLEMS = 300;

export function Overview(): ReactNode {
  const types = useTypes();
  const { namespace } = usePreferences();
  const now = useNow(5000);
  const nodes = useTableRows(types.byId('nodes'), '');
  const pods = useNotRunning(types, namespace);
  const deployments = useTableRows(types.byId('deployments.apps'), namespace);
  const statefulSets = useTableRows(types.byId('statefulsets.apps'), namespace);
  const daemonSets = useTableRows(types.byId('daemonsets.apps'), namespace);
  const jobs = useTableRows(types.byId('jobs.batch'), namespace);
  const claims = useTableRows(types.byId('persistentvolumeclaims'), namespace);
  const events = types.byId('events');
  const warnings = useLiveList(
    events === undefined ? undefined : collectionPath(events, namespace),
    { fieldSelector: 'type=Warning' },
    1000,
  );
  const tables = [pods, deployments, statefulSets, daemonSets, jobs, claims];
  const problems = useMemo(
    () =>
      problemsOf(
        {
          nodes,
          pods,
          deployments,
          statefulSets,
          daemonSets,
          jobs,
          claims,
          warnings: warnings.items,
        },
        now,
      ),
    [nodes, pods, deployments, statefulSets, daemonSets, jobs, claims, warnings, now],
  );
  const loading = tables.some(({ state, total }) => state.kind === 'loading' && total === 0);
  const denied = [nodes, ...tables].filter(({ state }) => state.kind === 'failed');
  return (
    <>
      <h1 className="page-title">
        {namespace === '' ? 'Cluster' : `Namespace ${printable(namespace)}`}
      </h1>
      <Problems problems={problems} loading={loading} denied={denied} />
      <Tiles nodes={nodes} notRunning={pods} deployments={deployments} namespace={namespace} />
      <Warnings items={warnings.items} now={now} />
    </>
  );
}

/**
 * Returns the pods that neither run nor have succeeded. One list for each phase, because the server
 * finds the objects of one value without a look at all others.
 */
function useNotRunning(types: Types, namespace: string): TableSnapshot {
  const type = types.byId('pods');
  const pending = useTableRows(type, namespace, 'status.phase=Pending');
  const failed = useTableRows(type, namespace, 'status.phase=Failed');
  const unknown = useTableRows(type, namespace, 'status.phase=Unknown');
  return useMemo(() => joinedTables([pending, failed, unknown]), [pending, failed, unknown]);
}

function Problems({
  problems,
  loading,
  denied,
}: {
  readonly problems: readonly Problem[];
  readonly loading: boolean;
  readonly denied: readonly TableSnapshot[];
}): ReactNode {
  const [limit, setLimit] = useState(FIRST_PROBLEMS);
  const canExplain = useExtra('why');
  const failing = problems.filter(({ severity }) => severity === 'problem').length;
  if (loading && problems.length === 0)
    return (
      <Section title="What is wrong">
        <Loading what="the state" />
      </Section>
    );
  return (
    <Section
      title={headingOf(failing, problems.length - failing)}
      actions={denied.length > 0 ? <Denied denied={denied} /> : undefined}
    >
      {problems.length === 0 ? (
        <p className="all-well">
          <SeverityMark severity="ok" /> All workloads have their pods, and nothing waits.
        </p>
      ) : (
        <ul className="problem-list">
          {problems.slice(0, limit).map((problem) => (
            <ProblemLine
              key={`${problem.typeId}/${problem.namespace}/${problem.name}/${problem.text}`}
              problem={problem}
              canExplain={canExplain}
            />
          ))}
        </ul>
      )}
      {problems.length > limit && limit < MAX_PROBLEMS && (
        <Button variant="subtle" size="compact-sm" onClick={() => setLimit(MAX_PROBLEMS)}>
          Show {Math.min(problems.length, MAX_PROBLEMS) - limit} more
        </Button>
      )}
      {problems.length > MAX_PROBLEMS && limit === MAX_PROBLEMS && (
        <p className="muted">and {problems.length - MAX_PROBLEMS} more</p>
      )}
    </Section>
  );
}

function headingOf(failing: number, waiting: number): string {
  if (failing > 0) return `What is wrong: ${failing}`;
  return waiting > 0 ? `Nothing has failed, ${waiting} wait` : 'Nothing is wrong';
}

const Denied = ({ denied }: { readonly denied: readonly TableSnapshot[] }): ReactNode => (
  <span
    className="muted"
    title={denied
      .map(({ state }) => (state.kind === 'failed' ? messageOf(new Error(state.message)) : ''))
      .join('\n')}
  >
    {denied.length === 1 ? 'One kind' : `${denied.length} kinds`} cannot be read
  </span>
);

function ProblemLine({
  problem,
  canExplain,
}: {
  readonly problem: Problem;
  readonly canExplain: boolean;
}): ReactNode {
  const types = useTypes();
  const type = types.byId(problem.typeId);
  return (
    <li className="problem">
      <SeverityMark severity={problem.severity} />
      <span className="problem-kind">{type?.kind ?? problem.typeId}</span>
      <span className="problem-name">
        {problem.namespace !== '' && (
          <span className="muted">{printable(problem.namespace)} / </span>
        )}
        <ObjectLink type={type} namespace={problem.namespace} name={problem.name} />
      </span>
      <span className="problem-text">
        {printable(problem.text)}
        {canExplain && type !== undefined && (
          <Link
            className="object-link problem-why"
            href={objectRoute(type, problem.namespace, problem.name, 'why')}
            aria-label={`Why? ${type.kind} ${problem.name}`}
          >
            Why?
          </Link>
        )}
      </span>
      <span className="muted problem-age">
        {!Number.isNaN(problem.since) && <Age time={new Date(problem.since).toISOString()} />}
      </span>
    </li>
  );
}

function Tiles({
  nodes,
  notRunning,
  deployments,
  namespace,
}: {
  readonly nodes: TableSnapshot;
  readonly notRunning: TableSnapshot;
  readonly deployments: TableSnapshot;
  readonly namespace: string;
}): ReactNode {
  const types = useTypes();
  const { api } = useServices();
  const pods = types.byId('pods');
  const total = usePolled(`pods/${namespace}/${pods === undefined}`, COUNT_MS, async (signal) => {
    if (pods === undefined) return undefined;
    const { items, metadata } = await api.json<{
      items: readonly unknown[];
      metadata: { remainingItemCount?: number };
    }>(`${collectionPath(pods, namespace)}?limit=1`, {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      signal,
    });
    return items.length + (metadata.remainingItemCount ?? 0);
  });
  const version = usePolled('version', COUNT_MS * 4, (signal) =>
    api.json<{ gitVersion: string; platform: string }>('/version', { signal }),
  );
  const statusIndex = nodes.columns.findIndex(({ name }) => name === 'Status');
  const readyIndex = deployments.columns.findIndex(({ name }) => name === 'Ready');
  const ready = nodes.rows.filter(({ cells }) =>
    /^Ready\b/.test(String(cells[statusIndex] ?? '')),
  ).length;
  const available = deployments.rows.filter(({ cells }) => {
    const [have, want] = String(cells[readyIndex] ?? '').split('/');
    return Number(have) >= Number(want);
  }).length;
  const link = (id: string): string | undefined => {
    const type = types.byId(id);
    return type === undefined ? undefined : listRoute(type);
  };
  return (
    <div className="tiles">
      {nodes.state.kind !== 'failed' && (
        <Tile title="Nodes ready" href={link('nodes')} bad={ready < nodes.total}>
          {ready} <span className="muted">of {nodes.total}</span>
        </Tile>
      )}
      <Tile title="Pods" href={link('pods')} bad={false}>
        {total.value?.toLocaleString('en') ?? '–'}
      </Tile>
      <Tile title="Pods that do not run" href={link('pods')} bad={notRunning.total > 0}>
        {notRunning.total.toLocaleString('en')}
      </Tile>
      <Tile
        title="Deployments available"
        href={link('deployments.apps')}
        bad={available < deployments.total}
      >
        {available} <span className="muted">of {deployments.total}</span>
      </Tile>
      <Tile title="Version" href={undefined} bad={false}>
        <span className="tile-text">{printable(version.value?.gitVersion ?? '–')}</span>
      </Tile>
    </div>
  );
}

function Tile({
  title,
  href,
  bad,
  children,
}: {
  readonly title: string;
  readonly href: string | undefined;
  readonly bad: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const content = (
    <>
      <span className="tile-title">{title}</span>
      <span className={`tile-value${bad ? ' state-problem' : ''}`}>{children}</span>
    </>
  );
  return (
    <Paper withBorder className="tile">
      {href === undefined ? content : <Link href={href}>{content}</Link>}
    </Paper>
  );
}

const SHOWN_WARNINGS = 25;

function Warnings({
  items,
  now,
}: {
  readonly items: readonly KubeObject[];
  readonly now: number;
}): ReactNode {
  const types = useTypes();
  const warnings = useMemo(
    () =>
      items
        .map(warningOf)
        .sort((a, b) => b.last - a.last)
        .slice(0, SHOWN_WARNINGS),
    [items],
  );
  const eventsType = types.byId('events.events.k8s.io');
  return (
    <Section
      title="Latest warnings"
      actions={
        eventsType !== undefined && (
          <Anchor component={Link} href={listRoute(eventsType)} size="sm">
            All events
          </Anchor>
        )
      }
    >
      {warnings.length === 0 ? (
        <Empty>There are no warnings.</Empty>
      ) : (
        <PlainTable of="warnings">
          <thead>
            <tr>
              <th>Object</th>
              <th>Reason</th>
              <th>Message</th>
              <th>Count</th>
              <th>Last</th>
            </tr>
          </thead>
          <tbody>
            {warnings.map((warning, index) => (
              <WarningLine key={keyOf(warning, index)} warning={warning} now={now} />
            ))}
          </tbody>
        </PlainTable>
      )}
    </Section>
  );
}

const keyOf = (warning: Warning, index: number): string =>
  `${warning.namespace}/${warning.name}/${warning.reason}/${index}`;

function WarningLine({
  warning,
  now,
}: {
  readonly warning: Warning;
  readonly now: number;
}): ReactNode {
  const types = useTypes();
  const type = types.all.find(({ kind }) => kind === warning.kind);
  return (
    <tr>
      <td>
        <span className="muted">{printable(warning.kind)} </span>
        <ObjectLink type={type} namespace={warning.namespace} name={warning.name} />
      </td>
      <td className="nowrap">{printable(warning.reason)}</td>
      <td>{printable(warning.message)}</td>
      <td className="number">{warning.count}</td>
      <td className="nowrap">{durationText(now - warning.last)}</td>
    </tr>
  );
}
