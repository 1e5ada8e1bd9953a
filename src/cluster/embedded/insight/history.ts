// The history of one object: each change with the request that made it, and the watch event that
// made the client send that request.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { formatDifferences } from '#machinery/diff/index.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { RecordLog } from './log.ts';
import type { Recorded, RecordedChange, RecordedRequest } from './recorder.ts';
import type { DeliveryRecord } from './records.ts';
import type { Cause, HistoryEntry, Relation } from './types.ts';

/**
 * The object whose history is asked for. With a uid, earlier objects of the same name are left out.
 */
export interface HistorySubject {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** Looking further back for a cause takes too long. */
const MAX_LOOK_BACK = 20_000;
const MANAGER = 'kube-controller-manager';
const WRITES: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);

export function historyOf(
  log: RecordLog<Recorded>,
  subject: HistorySubject,
): readonly HistoryEntry[] {
  const changes: RecordedChange[] = [];
  for (const record of log)
    if (record.type === 'change' && isAbout(record.object, subject)) changes.push(record);
  const requests = requestsOf(log, changes);
  return changes.map((change) => entryOf(log, change, requests.get(change)));
}

function entryOf(
  log: RecordLog<Recorded>,
  record: RecordedChange,
  request: RecordedRequest | undefined,
): HistoryEntry {
  const { change, revision, timeMs, object, previous } = record;
  return {
    change,
    revision,
    timeMs,
    client: request?.client,
    request,
    cause: request && causeOf(log, request, object),
    diff: change === 'MODIFIED' ? diffOf(previous, object) : [],
    object,
    previous,
  };
}

function isAbout({ kind, metadata }: Immutable<KubeObject>, subject: HistorySubject): boolean {
  if (metadata.name !== subject.name || (metadata.namespace ?? '') !== (subject.namespace ?? ''))
    return false;
  if (subject.kind !== undefined && kind !== subject.kind) return false;
  return subject.uid === undefined || metadata.uid === subject.uid;
}

/**
 * Finds the requests that made the changes: by the revision in the response, or by the time in
 * which they were in flight.
 */
export function requestsOf(
  log: RecordLog<Recorded>,
  changes: readonly RecordedChange[],
): ReadonlyMap<RecordedChange, RecordedRequest> {
  const keys = new Set(changes.map(({ key }) => key));
  const byKey = new Map<string, RecordedRequest[]>();
  const collections: RecordedRequest[] = [];
  for (const record of log) {
    if (record.type !== 'request' || record.dryRun || !WRITES.has(record.verb)) continue;
    if (record.verb === 'deletecollection') collections.push(record);
    else if (keys.has(record.key)) {
      const requests = byKey.get(record.key);
      if (requests === undefined) byKey.set(record.key, [record]);
      else requests.push(record);
    }
  }
  const found = new Map<RecordedChange, RecordedRequest>();
  for (const change of changes) {
    const own = byKey.get(change.key) ?? [];
    const request =
      own.find(({ revision }) => revision === change.revision) ??
      own.findLast((each) => wasInFlight(each, change) && canHaveMade(each, change)) ??
      collections.findLast((each) => wasInFlight(each, change) && isInside(each, change.key));
    if (request !== undefined) found.set(change, request);
  }
  return found;
}

/**
 * The record of a change may come after the response: before anything else of the client happens.
 */
function wasInFlight({ sequence, ended }: RecordedRequest, change: RecordedChange): boolean {
  return sequence < change.sequence && change.sequence <= ended + 1;
}

/**
 * Another revision in the response means another change, but for a write that made the object go
 * away.
 */
function canHaveMade({ revision, code }: RecordedRequest, change: RecordedChange): boolean {
  if (code !== undefined && code >= 400) return false;
  return revision === undefined || change.change === 'DELETED';
}

function isInside({ path, resource }: RecordedRequest, key: string): boolean {
  const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
  return (
    key.includes(`/${resource}/`) && (namespace === undefined || key.includes(`/${namespace}/`))
  );
}

function causeOf(
  log: RecordLog<Recorded>,
  request: RecordedRequest,
  object: Immutable<KubeObject>,
): Cause | undefined {
  let looked = 0;
  const text = stringifyJson(object) ?? '';
  let own: DeliveryRecord | undefined;
  for (const record of log.backwards()) {
    if (++looked > MAX_LOOK_BACK) break;
    if (record.type !== 'delivery' || record.sequence >= request.sequence) continue;
    if (!receivesFor(record.client, request)) continue;
    const relation = relationOf(record.object, object, text);
    if (relation === undefined) continue;
    const made = requestBehind(log, record);
    // The client sees what it has written itself, too: that is a cause only if there is no other.
    if (made?.client !== request.client) return { event: record, relation, request: made };
    own ??= record;
  }
  if (own === undefined) return undefined;
  const relation = relationOf(own.object, object, text) as Relation;
  return { event: own, relation, request: requestBehind(log, own) };
}

/** Controllers of the controller manager share its informers. */
function receivesFor(receiver: string, { client, user }: RecordedRequest): boolean {
  if (receiver === client) return true;
  return receiver === MANAGER && user.startsWith('system:serviceaccount:kube-system:');
}

function relationOf(
  seen: Immutable<KubeObject>,
  written: Immutable<KubeObject>,
  writtenText: string,
): Relation | undefined {
  const { uid } = seen.metadata;
  if (uid === undefined || uid === '') return undefined;
  if (uid === written.metadata.uid) return 'same object';
  if (written.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true) return 'owner';
  if (writtenText.includes(uid)) return 'is referred to';
  const own = written.metadata.uid;
  return own !== undefined && own !== '' && (stringifyJson(seen) ?? '').includes(own)
    ? 'refers to it'
    : undefined;
}

/** Returns the request that made the state that an event has. */
function requestBehind(
  log: RecordLog<Recorded>,
  event: DeliveryRecord,
): RecordedRequest | undefined {
  const revision = Number(event.object.metadata.resourceVersion);
  for (const record of log.backwards()) {
    if (record.type !== 'change' || record.sequence > event.sequence) continue;
    if (record.revision < revision) return undefined;
    if (record.revision === revision) return requestsOf(log, [record]).get(record);
  }
  return undefined;
}

/** Returns a line for each difference, without what every write changes. */
export function diffOf(
  before: Immutable<KubeObject> | undefined,
  after: Immutable<KubeObject>,
): readonly string[] {
  return formatDifferences(before && comparable(before), comparable(after));
}

function comparable(object: Immutable<KubeObject>): object {
  const {
    managedFields: _fields,
    resourceVersion: _version,
    generation: _generation,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}
