// The same requests for each kind: reads in all forms, selectors, patches of every type, writes of
// the status, dry runs of every verb, deletions of collections, watches with initial events.

import type { Kind } from '#apiserver/catalog/kind.ts';
import { kindManifests } from '../../e2e/kinds.ts';
import { samples } from '../samples.ts';
import { servedKind, targetOf } from '../shots.ts';
import {
  APPLY,
  apply,
  type Call,
  get,
  JSON_PATCH,
  patch,
  post,
  put,
  remove,
  send,
  STRATEGIC,
} from './call.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Selects the objects of these calls, which nothing else creates. */
const LABELS = { every: 'kind' };
const SELECTOR = 'labelSelector=every%3Dkind';
const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

type Manifest = Readonly<Record<string, unknown>>;

/** Namespaces go in steps, which the subresources' calls have. */
const LEFT_OUT = 'Namespace';

/** The forms of watches, in turn: each watch takes a second. */
const WATCH_FORMS = [undefined, TABLE, PARTIAL];

function callsOf(kind: Kind, path: string, manifest: Manifest, watchForm?: string): Call[] {
  const metadata = manifest['metadata'] as { readonly name: string };
  const { name } = metadata;
  const { apiVersion, kind: kindName } = manifest;
  const object = { ...manifest, metadata: { ...metadata, labels: LABELS } };
  const at = `${path}/${name}`;
  const mayUpdate = kind.rest.update !== undefined;
  const hasStatus =
    kind.subresources?.some((subresource) => subresource.name === 'status') === true;
  const identity = { apiVersion, kind: kindName, metadata: { name } };
  return [
    post(`${path}?dryRun=All&fieldManager=dry`, object),
    post(`${path}?fieldManager=first`, object),
    post(path, object),
    ...reads(path, at, name),
    get(`${path}?watch=1&timeoutSeconds=1&${SELECTOR}&${INITIAL}`, watchForm),
    ...(mayUpdate ? [...patches(at, identity), ...updates(at, object)] : []),
    ...(hasStatus ? statuses(at, object, identity) : []),
    get(`${at}/none`),
    post(`${at}/status`, identity),
    remove(`${at}/status`),
    put(path, object),
    ...deletions(path, at),
  ];
}

const reads = (path: string, at: string, name: string): readonly Call[] => [
  get(at),
  get(at, TABLE),
  get(at, PARTIAL),
  get(at, PROTOBUF),
  get(at, 'application/yaml'),
  get(`${at}?resourceVersion=0`, `${TABLE},${PARTIAL}`),
  get(`${path}?${SELECTOR}`),
  get(`${path}?${SELECTOR}&includeObject=Object`, TABLE),
  get(`${path}?${SELECTOR}`, PARTIAL_LIST),
  get(`${path}?${SELECTOR}&limit=1&resourceVersion=0`),
  get(`${path}?${SELECTOR}&fieldSelector=metadata.name%3D${name}`),
  get(`${path}?${SELECTOR}&fieldSelector=metadata.name%21%3D${name}`),
  get(`${path}?${SELECTOR}&fieldSelector=metadata.namespace%3Ddefault`),
  get(`${path}?${SELECTOR}&fieldSelector=metadata.namespace%21%3Ddefault`),
  get(`${path}?${SELECTOR}&fieldSelector=metadata.uid%3Dx`),
  get(`${path}?${SELECTOR}&fieldSelector=spec.none%3Dx`),
];

/** `identity`: the object without its content. */
const patches = (at: string, identity: object): readonly Call[] => [
  patch(at, { metadata: { labels: { b: 'c' } } }),
  patch(`${at}?dryRun=All`, { metadata: { labels: { b: 'd' } } }),
  patch(at, { metadata: { annotations: { b: 'c' } } }, STRATEGIC),
  patch(at, { metadata: { labels: { b: null } } }, STRATEGIC),
  patch(
    at,
    [
      { op: 'test', path: '/metadata/annotations/b', value: 'c' },
      { op: 'remove', path: '/metadata/annotations/b' },
    ],
    JSON_PATCH,
  ),
  patch(at, [{ op: 'test', path: '/metadata/annotations/b', value: 'c' }], JSON_PATCH),
  patch(`${at}?fieldValidation=Strict`, { nothing: 1, metadata: { nothing: 1 } }),
  patch(at, { spec: 1 }),
  patch(at, { spec: null, status: null }),
  patch(at, { status: { x: 1 } }),
  patch(at, { metadata: { generation: 77, creationTimestamp: null, selfLink: 'x' } }),
  patch(at, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a' }] } }),
  apply(at, 'fieldManager=applier&dryRun=All', identity),
  apply(at, 'fieldManager=applier', identity),
  apply(at, 'fieldManager=applier', {
    ...identity,
    metadata: { ...(identity as { metadata: object }).metadata, labels: { applied: 'yes' } },
  }),
  apply(at, 'fieldManager=applier', identity),
  send('PATCH', `${at}?fieldManager=applier`, { ...identity, kind: 'Wrong' }, APPLY),
];

const updates = (at: string, object: object): readonly Call[] => [
  put(`${at}?dryRun=All`, object),
  put(at, object),
  put(`${at}-none`, object),
  put(at, { ...object, metadata: { ...(object as { metadata: object }).metadata, uid: 'x' } }),
  put(at, {
    ...object,
    metadata: { ...(object as { metadata: object }).metadata, resourceVersion: '1' },
  }),
  get(at),
];

const statuses = (at: string, object: object, identity: object): readonly Call[] => [
  get(`${at}/status`),
  get(`${at}/status`, TABLE),
  put(`${at}/status?dryRun=All`, object),
  put(`${at}/status`, { ...object, status: {} }),
  put(`${at}/status`, { ...object, status: { conditions: [] } }),
  put(`${at}/status`, { ...object, status: { conditions: [{ type: 'X' }], phase: 1 } }),
  put(`${at}/status`, {
    ...object,
    metadata: {
      ...(object as { metadata: object }).metadata,
      labels: { ...LABELS, from: 'status' },
      annotations: { from: 'status' },
      finalizers: ['example.com/status'],
    },
  }),
  patch(`${at}/status`, { status: null }),
  patch(`${at}/status`, { status: { conditions: [{ type: 'B', status: 'True' }] } }),
  patch(`${at}/status`, { status: { nothing: 1 } }),
  patch(`${at}/status?fieldValidation=Strict`, { status: { nothing: 1 } }),
  patch(`${at}/status`, { metadata: { labels: { status: 'yes' } }, spec: null }),
  patch(`${at}/status`, [{ op: 'add', path: '/status', value: {} }], JSON_PATCH),
  apply(`${at}/status`, 'fieldManager=applier&force=true', identity),
  get(at),
  patch(at, { metadata: { finalizers: null } }),
];

const deletions = (path: string, at: string): readonly Call[] => [
  remove(`${at}?dryRun=All`),
  remove(at, { preconditions: { uid: 'x' } }),
  remove(at, { preconditions: { resourceVersion: '1' } }),
  remove(at, { propagationPolicy: 'Wrong' }),
  remove(`${path}?${SELECTOR}&dryRun=All`),
  remove(`${path}?${SELECTOR}`, { preconditions: { resourceVersion: '1' } }),
  remove(`${path}?${SELECTOR}&fieldSelector=metadata.name%3Dnone`),
  remove(`${path}?${SELECTOR}&fieldSelector=wrong%3Dnone`),
  patch(at, { metadata: { finalizers: ['example.com/held'] } }),
  remove(`${path}?${SELECTOR}&gracePeriodSeconds=0`),
  get(at),
  patch(at, { metadata: { finalizers: [] } }),
  get(at),
  remove(at),
];

/** Returns the calls for each kind that has a sample. */
export function everyKindCalls(kinds: readonly Kind[]): readonly Call[] {
  const all = [...samples, ...kindManifests].filter(({ kind }) => kind !== LEFT_OUT);
  return all.flatMap((sample, index) => {
    const served = servedKind(kinds, sample);
    if (served === undefined) return [];
    const { collection } = targetOf(served, sample);
    return callsOf(served, collection, sample.manifest, WATCH_FORMS[index % WATCH_FORMS.length]);
  });
}
