// The timeline: the past of the cluster as far as the store has it, to be moved through. It uses the
// API alone: lists at an exact revision, and watches from there.

import { Button, SegmentedControl } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { sleep } from '../../browser/clock.ts';
import { isAbort, isExpired, isForbidden, isNotFound } from '../../data/server/api-error.ts';
import { cellSeverity } from '../../data/lists/cell-severity.ts';
import { linesOf } from '../../data/text/lines.ts';
import type { WatchEvent } from '../../data/lists/list-watch.ts';
import { printable } from '../../data/text/printable.ts';
import { collectionPath, type ResourceType, typeId } from '../../data/server/resource-type.ts';
import { TABLE_ACCEPT, type TableColumn, type TableDocument } from '../../data/lists/table.ts';
import {
  type Change,
  oldestRevision,
  type PastObject,
  readBase,
  Timeline,
} from '../../data/insight/timeline.ts';
import {
  Empty,
  ErrorBox,
  Loading,
  ObjectLink,
  PlainTable,
  Section,
  SeverityMark,
} from '../../parts/basics.tsx';
import { usePreferences, useTypes } from '../../parts/hooks.ts';
import { type Services, useServices } from '../../services.ts';

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  Pods: ['pods'],
  Workloads: [
    'deployments.apps',
    'replicasets.apps',
    'statefulsets.apps',
    'daemonsets.apps',
    'jobs.batch',
    'pods',
  ],
  Network: ['services', 'ingresses.networking.k8s.io', 'endpointslices.discovery.k8s.io'],
  Nodes: ['nodes'],
};

interface Snapshot {
  readonly timeline: Timeline;
  /** Grows with each batch of changes. */
  readonly version: number;
}

export function TimelinePage(): ReactNode {
  const services = useServices();
  const types = useTypes();
  const { namespace } = usePreferences();
  const [choice, setChoice] = useState('Workloads');
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  const chosen = useMemo(
    () => (CHOICES[choice] ?? []).flatMap((id) => types.byId(id) ?? []),
    [choice, types],
  );
  useEffect(() => {
    const abort = new AbortController();
    setSnapshot(undefined);
    setError(undefined);
    readPast(services, chosen, namespace, abort.signal, (timeline) =>
      setSnapshot((last) => ({ timeline, version: (last?.version ?? 0) + 1 })),
    ).catch((error_: unknown) => {
      if (!abort.signal.aborted && !isAbort(error_)) setError(error_);
    });
    return () => abort.abort();
  }, [services, chosen, namespace, attempt]);
  return (
    <>
      <h1 className="page-title">Timeline</h1>
      <div className="toolbar">
        <SegmentedControl
          size="xs"
          aria-label="Kinds"
          value={choice}
          onChange={setChoice}
          data={Object.keys(CHOICES)}
        />
        <span className="muted">
          As far back as the store keeps revisions, mostly five minutes; it grows while this page is
          shown.
        </span>
      </div>
      {error !== undefined && (
        <ErrorBox error={error} onRetry={() => setAttempt((last) => last + 1)} />
      )}
      {snapshot === undefined && error === undefined && <Loading what="the past" />}
      {snapshot !== undefined && <Scrubber snapshot={snapshot} types={chosen} />}
    </>
  );
}

/** Reads the past of all kinds from one revision on, and follows what happens. */
async function readPast(
  services: Services,
  types: readonly ResourceType[],
  namespace: string,
  signal: AbortSignal,
  onChange: (timeline: Timeline) => void,
): Promise<void> {
  const { api } = services;
  const [first] = types;
  if (first === undefined) return;
  const place = (type: ResourceType): string => (type.namespaced ? namespace : '');
  const latest = await api.json<{ metadata: { resourceVersion: string } }>(
    `${collectionPath(first, place(first))}?limit=1`,
    { signal },
  );
  const newest = Number(latest.metadata.resourceVersion);
  if (!Number.isSafeInteger(newest)) throw new Error('the revisions of this store are no numbers');
  const oldest = await oldestRevision(api, first, namespace, newest, signal);
  // The very oldest revision may be forgotten before everything is read.
  const from = Math.min(newest, oldest + Math.ceil((newest - oldest) * 0.02));
  const timeline = new Timeline();
  await Promise.all(
    types.map(async (type) => {
      try {
        await readBase(api, timeline, type, namespace, from, signal);
      } catch (error) {
        // Kinds that the user may not list are left out.
        if (!isForbidden(error) && !isNotFound(error)) throw error;
      }
    }),
  );
  onChange(timeline);
  await Promise.all(
    types.map((type) =>
      followChanges(services, type, namespace, { timeline, from, onChange }, signal),
    ),
  );
}

interface Following {
  readonly timeline: Timeline;
  readonly from: number;
  readonly onChange: (timeline: Timeline) => void;
}

const RETRY_MS = 1000;

/** Watches one kind; a watch that ends or breaks continues from the last revision. */
async function followChanges(
  { api, clock, connection }: Services,
  type: ResourceType,
  namespace: string,
  { timeline, from, onChange }: Following,
  signal: AbortSignal,
): Promise<void> {
  let revision = String(from);
  const collection = collectionPath(type, type.namespaced ? namespace : '');
  while (!signal.aborted) {
    try {
      const path = `${collection}?watch=true&allowWatchBookmarks=true&resourceVersion=${revision}`;
      const { body } = await api.request(path, { accept: TABLE_ACCEPT, signal });
      if (body === null) return;
      for await (const lines of linesOf(body)) {
        const events = lines
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as WatchEvent);
        revision = revisionOf(events.at(-1)) ?? revision;
        timeline.addEvents(typeId(type), events);
        onChange(timeline);
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (isForbidden(error) || isNotFound(error)) return;
      if (isExpired(error)) throw error;
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    await connection.whenOnline(signal).catch(() => undefined);
  }
}

function revisionOf(event: WatchEvent | undefined): string | undefined {
  const { metadata, rows } = (event?.object ?? {}) as TableDocument;
  return metadata?.resourceVersion ?? rows?.at(-1)?.object?.metadata?.resourceVersion;
}

function Scrubber({
  snapshot: { timeline, version },
  types,
}: {
  readonly snapshot: Snapshot;
  readonly types: readonly ResourceType[];
}): ReactNode {
  const { changes } = timeline;
  /** The number of changes that have happened; undefined follows the latest. */
  const [position, setPosition] = useState<number>();
  const count = Math.min(position ?? changes.length, changes.length);
  const state = useMemo(
    () => timeline.stateAfter(count),
    // The timeline changes in place.
    [timeline, count, version],
  );
  const current = changes[count - 1];
  const step = (by: number): void => setPosition(Math.max(0, Math.min(changes.length, count + by)));
  return (
    <>
      <Section
        title={
          current === undefined
            ? 'The oldest state'
            : `Revision ${current.revision}, ${new Date(current.time).toLocaleTimeString()}`
        }
        actions={
          <div className="toolbar">
            <Button size="compact-xs" variant="default" onClick={() => step(-1)}>
              ← Back
            </Button>
            <Button size="compact-xs" variant="default" onClick={() => step(1)}>
              Forth →
            </Button>
            <Button
              size="compact-xs"
              variant={position === undefined ? 'filled' : 'default'}
              onClick={() => setPosition(undefined)}
            >
              Now
            </Button>
          </div>
        }
      >
        <Density changes={changes} />
        <input
          type="range"
          className="scrubber"
          aria-label="Position in time"
          aria-valuetext={current === undefined ? 'oldest' : `revision ${current.revision}`}
          min={0}
          max={changes.length}
          value={count}
          onChange={(event) => setPosition(Number(event.currentTarget.value))}
        />
        <p className="muted">
          {count} of {changes.length} changes
        </p>
      </Section>
      <div className="timeline">
        <Changes changes={changes} count={count} onChoose={setPosition} types={types} />
        <State state={state} current={current} types={types} columns={timeline.columns} />
      </div>
    </>
  );
}

const BUCKETS = 120;
const HEIGHT = 40;

/** The number of changes over time, by the order of changes, as the slider has it. */
function Density({ changes }: { readonly changes: readonly Change[] }): ReactNode {
  const buckets = useMemo(() => {
    const counts = Array.from({ length: BUCKETS }, () => ({ added: 0, deleted: 0, other: 0 }));
    changes.forEach(({ type }, index) => {
      const bucket = counts[Math.floor((index / Math.max(1, changes.length)) * BUCKETS)]!;
      if (type === 'ADDED') bucket.added += 1;
      else if (type === 'DELETED') bucket.deleted += 1;
      else bucket.other += 1;
    });
    return counts;
  }, [changes]);
  const highest = Math.max(
    1,
    ...buckets.map(({ added, deleted, other }) => added + deleted + other),
  );
  const unit = HEIGHT / highest;
  return (
    <svg
      viewBox={`0 0 ${BUCKETS} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="density"
      aria-hidden="true"
    >
      {buckets.map(({ added, deleted, other }, index) => (
        <g key={`bucket-${index}`} transform={`translate(${index} 0)`}>
          <rect width="0.8" y={HEIGHT - other * unit} height={other * unit} className="bar-other" />
          <rect
            width="0.8"
            y={HEIGHT - (other + added) * unit}
            height={added * unit}
            className="bar-added"
          />
          <rect
            width="0.8"
            y={HEIGHT - (other + added + deleted) * unit}
            height={deleted * unit}
            className="bar-deleted"
          />
        </g>
      ))}
    </svg>
  );
}

const AROUND = 12;
const WORDS = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const;

function Changes({
  changes,
  count,
  onChoose,
  types,
}: {
  readonly changes: readonly Change[];
  readonly count: number;
  readonly onChoose: (position: number) => void;
  readonly types: readonly ResourceType[];
}): ReactNode {
  const start = Math.max(0, Math.min(count - AROUND, changes.length - AROUND * 2));
  const shown = changes.slice(start, start + AROUND * 2);
  return (
    <Section title="Changes">
      {shown.length === 0 && <Empty>Nothing has changed.</Empty>}
      <ol className="changes">
        {shown.map(({ revision, type, object, time }, offset) => {
          const index = start + offset + 1;
          const kind = types.find((each) => typeId(each) === object.typeId)?.kind;
          return (
            <li key={`${object.typeId}/${revision}`}>
              <button
                type="button"
                className="change"
                aria-current={index === count ? 'step' : undefined}
                data-future={index > count}
                onClick={() => onChoose(index)}
              >
                <span className="muted">{new Date(time).toLocaleTimeString()}</span>
                <span className={`change-${type.toLowerCase()}`}>{WORDS[type]}</span>
                <span className="change-name">
                  {kind} {printable(object.row.name)}
                </span>
              </button>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

const MAX_SHOWN = 300;

function State({
  state,
  current,
  types,
  columns,
}: {
  readonly state: readonly PastObject[];
  readonly current: Change | undefined;
  readonly types: readonly ResourceType[];
  readonly columns: ReadonlyMap<string, readonly TableColumn[]>;
}): ReactNode {
  const sorted = useMemo(() => {
    const rank = new Map(types.map((type, index) => [typeId(type), index]));
    return state.toSorted(
      (a, b) =>
        (rank.get(a.typeId) ?? 0) - (rank.get(b.typeId) ?? 0) ||
        (`${a.row.namespace}/${a.row.name}` < `${b.row.namespace}/${b.row.name}` ? -1 : 1),
    );
  }, [state, types]);
  return (
    <Section title={`State: ${state.length} objects`}>
      <PlainTable of="objects">
        <thead>
          <tr>
            <th>Object</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, MAX_SHOWN).map((object) => {
            const { row } = object;
            const type = types.find((each) => typeId(each) === object.typeId);
            return (
              <tr
                key={row.uid}
                className={current?.object.row.uid === row.uid ? 'row-current' : undefined}
              >
                <td>
                  <span className="muted">{type?.kind} </span>
                  <ObjectLink type={type} namespace={row.namespace} name={row.name} />
                </td>
                <td>
                  <Cells object={object} columns={columns.get(object.typeId) ?? []} />
                  {row.deleting && <span className="state-waiting"> being deleted</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </PlainTable>
      {sorted.length > MAX_SHOWN && (
        <p className="muted">The first {MAX_SHOWN} objects are shown.</p>
      )}
    </Section>
  );
}

/** Columns that say nothing about the state at that time. */
const LEFT_OUT = /^(name|age|created at)$/i;

function Cells({
  object: { row },
  columns,
}: {
  readonly object: PastObject;
  readonly columns: readonly TableColumn[];
}): ReactNode {
  return columns.map(({ name, priority = 0 }, index) => {
    const cell = row.cells[index];
    if (priority > 0 || LEFT_OUT.test(name) || cell === null || cell === undefined || cell === '')
      return null;
    const severity = cellSeverity(name, cell);
    return (
      <span key={name} className={`past-cell state-${severity}`}>
        <span className="muted">{printable(name)} </span>
        {severity !== 'neutral' && <SeverityMark severity={severity} />}
        {printable(String(cell))}
      </span>
    );
  });
}
