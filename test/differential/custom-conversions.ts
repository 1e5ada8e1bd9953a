// Compares conversion webhooks. One webhook on loopback converts for both servers, with every kind
// of wrong response, and the answers of both are compared. A webhook is called on the machine of
// this command, so the other server must run there, too.

import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '#apiserver/webhooks/testing/webhook-server.ts';
import type { ServerResponse } from 'node:http';
import { differences } from './compare.ts';
import type { CustomObjectCase } from './custom-object-cases.ts';
import { define, type Server, undefine } from './custom-objects.ts';
import type { ReportLines } from './report.ts';
import type { Shot } from './shots.ts';

type Json = Record<string, unknown>;
interface Converted extends Json {
  readonly metadata: Json;
}
interface Request {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly (Converted & { readonly spec?: Readonly<Record<string, number>> })[];
}

const GROUP = 'conversions.custom-kinds.example.com';
const collection = (version: string): string =>
  `/apis/${GROUP}/${version}/namespaces/default/lengths`;

/** Converts objects: v1 has spec.size, v2 has spec.length with the same value. */
function converted({ objects, desiredAPIVersion }: Request): Converted[] {
  return objects.map(({ spec = {}, ...object }) => {
    const value = spec['size'] ?? spec['length'];
    const name = desiredAPIVersion.endsWith('v2') ? 'length' : 'size';
    return {
      ...object,
      apiVersion: desiredAPIVersion,
      spec: value === undefined ? {} : { [name]: value },
    };
  });
}

const review = (response: unknown): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  response,
});
const answer = ({ uid }: Request, objects: unknown): Json => ({
  uid,
  convertedObjects: objects,
  result: { status: 'Success' },
});

type Respond = (request: Request, response: ServerResponse) => void;
const json = (of: (request: Request) => unknown): Respond => {
  return (request, response) => respondJson(response, of(request));
};
/** Responds with each object changed. */
const changed = (change: (object: Converted) => unknown): Respond =>
  json((request) => review(answer(request, converted(request).map(change))));
const withMetadata = (metadata: Json): Respond =>
  changed((object) => ({ ...object, metadata: { ...object.metadata, ...metadata } }));
const plain = (code: number, type: string, text: string): Respond => {
  return (_, response) => {
    response.writeHead(code, { 'content-type': type });
    response.end(text);
  };
};

const right: Respond = changed((object) => object);

/** The webhook's responses to the first read of an object, by case. */
const BEHAVIOURS: Readonly<Record<string, Respond>> = {
  right,
  'another UID': json((request) => review({ ...answer(request, converted(request)), uid: 'x' })),
  'no UID': json((request) =>
    review({ convertedObjects: converted(request), result: { status: 'Success' } }),
  ),
  'another kind': json((request) => ({
    ...review(answer(request, converted(request))),
    kind: 'Pod',
  })),
  'no kind': json(() => ({ response: {} })),
  'another version': json((request) => ({
    ...review(answer(request, [])),
    apiVersion: 'apiextensions.k8s.io/v1beta1',
  })),
  'no response': json(() => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' })),
  'a failure': json(({ uid }) =>
    review({ uid, result: { status: 'Failure', message: 'not today' } }),
  ),
  'no result': json((request) =>
    review({ uid: request.uid, convertedObjects: converted(request) }),
  ),
  'no objects': json((request) => review(answer(request, []))),
  'null objects': json((request) => review(answer(request, null))),
  'a text for an object': json((request) => review(answer(request, ['x']))),
  'an empty object': json((request) => review(answer(request, [{}]))),
  'an object of another version': changed((object) => ({ ...object, apiVersion: 'x.com/v3' })),
  'an object of another kind': changed((object) => ({ ...object, kind: 'Other' })),
  'another name': withMetadata({ name: 'z' }),
  'another namespace': withMetadata({ namespace: 'z' }),
  'another UID of the object': withMetadata({ uid: 'z' }),
  'no metadata': changed((object) => ({ ...object, metadata: undefined })),
  'metadata of a wrong type': changed((object) => ({ ...object, metadata: 'x' })),
  'labels of a wrong type': withMetadata({ labels: 3 }),
  'a label of a wrong type': withMetadata({ labels: { a: 3 } }),
  'a bad label': withMetadata({ labels: { 'a b': 'x' } }),
  'a bad annotation': withMetadata({ annotations: { 'a b': 'x' } }),
  'other metadata': withMetadata({
    labels: { l: 'b' },
    annotations: { c: 'd' },
    finalizers: ['x/y'],
    generation: 77,
  }),
  'unknown fields': changed((object) => ({ ...object, unknown: 1 })),
  'status 500': plain(500, 'text/plain', 'boom'),
  'status 404': plain(404, 'text/html', '<html>'),
  'a text': plain(200, 'text/plain', 'hello'),
  'a list': json(() => []),
  nothing: plain(200, 'application/json', ''),
};

function definitionFor(webhook: WebhookServer): CustomObjectCase {
  const version = (name: string, storage: boolean, field: string): Json => {
    const spec = { type: 'object', properties: { [field]: { type: 'integer' } } };
    return {
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
    };
  };
  const clientConfig = { url: `${webhook.url}/convert`, caBundle: webhook.caBundle };
  return {
    name: 'conversion',
    requests: [],
    definition: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `lengths.${GROUP}` },
      spec: {
        group: GROUP,
        scope: 'Namespaced',
        names: { plural: 'lengths', kind: 'Length' },
        versions: [version('v1', true, 'size'), version('v2', false, 'length')],
        conversion: {
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v1'], clientConfig },
        },
      },
    },
  };
}

export async function compareConversions(
  ours: Server,
  theirs: Server,
  report: ReportLines,
): Promise<void> {
  let respond = right;
  const webhook = await startWebhookServer({
    handler: ({ body }, response) =>
      respond((JSON.parse(body) as { readonly request: Request }).request, response),
  });
  const each = definitionFor(webhook);
  const compare = async (title: string, shot: Shot): Promise<void> => {
    const lines = differences(...(await Promise.all([ours.send(shot), theirs.send(shot)])));
    report(`conversion, ${title}: ${shot.method} ${shot.path}`, lines);
  };
  try {
    await Promise.all([define(ours, each), define(theirs, each)]);
    for (const [index, [title, behaviour]] of Object.entries(BEHAVIOURS).entries()) {
      const name = `object-${index}`;
      respond = behaviour;
      await compare(title, creation('v1', name, { size: index }));
      await compare(title, shotOf('GET', `${collection('v2')}/${name}`));
      // Upstream's caches already convert the existing objects; both servers convert a new object
      // at the time of the request.
      await compare(title, creation('v2', `new-${name}`, { length: index }));
      respond = right;
      await compare(
        title,
        shotOf(
          'PATCH',
          `${collection('v2')}/${name}`,
          { spec: { length: 100 + index } },
          'application/merge-patch+json',
        ),
      );
      await compare(title, shotOf('GET', `${collection('v1')}/${name}`));
    }
  } finally {
    await Promise.all([undefine(ours, each), undefine(theirs, each)]);
    await webhook.stop();
  }
}

function creation(version: string, name: string, spec: Json): Shot {
  return shotOf('POST', collection(version), {
    apiVersion: `${GROUP}/${version}`,
    kind: 'Length',
    metadata: { name },
    spec,
  });
}

function shotOf(method: string, path: string, body?: unknown, type = 'application/json'): Shot {
  return { method, path, type, body: body === undefined ? '' : JSON.stringify(body), changes: [] };
}
