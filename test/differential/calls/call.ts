// A call: a request whose answers are compared completely, with headers. A group of calls runs in
// its order, from the same state at both servers.

import { differences, parsed } from '../compare.ts';
import { sortedManagers } from '../steps.ts';
import { headerDifferences, wireTitle, type WireAnswer, type WireShot } from '../wire.ts';

export interface Call extends WireShot {
  /** Repeats the request, at most 30 s, until each server answers with this code, or an error. */
  readonly untilCode?: number | 'error';
  /** Repeats it until the answer has no warning, too. */
  readonly untilUnwarned?: true;
  /** Returns the part of the body that is compared. Default: everything. */
  readonly part?: (body: unknown) => unknown;
}

export interface CallServer {
  wire(shot: WireShot): Promise<WireAnswer>;
}

interface Kept {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly status?: { readonly token?: string };
}

/**
 * Values of earlier answers, which paths, bodies and headers name in braces: `{rv}` and `{uid}` of
 * the last object or list, `{continue}` of the last list, `{token}` of the last TokenRequest.
 */
export class Values {
  readonly #values = new Map<string, string>();

  /** Returns the call with the values. */
  into<T extends WireShot>(call: T): T {
    const { path, body, headers = {} } = call;
    const same = (value: string): string => value;
    return {
      ...call,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, this.#filled(value, same)]),
      ),
      path: this.#filled(path, encodeURIComponent),
      ...(typeof body === 'string' && { body: this.#filled(body, same) }),
    };
  }

  #filled(text: string, encode: (value: string) => string): string {
    return text.replaceAll(/\{(rv|uid|continue|token)\}/g, (_all, name: string) =>
      encode(this.#values.get(name) ?? ''),
    );
  }

  /** Keeps the values of an answer. */
  keep(text: string): void {
    const body = parsed(text) as Kept | null;
    const metadata = typeof body === 'object' ? body?.metadata : undefined;
    const issued = typeof body === 'object' ? body?.status?.token : undefined;
    if (issued !== undefined) this.#values.set('token', issued);
    if (metadata === undefined) return;
    const { resourceVersion, uid, continue: token } = metadata;
    if (resourceVersion !== undefined) this.#values.set('rv', resourceVersion);
    if (uid !== undefined) this.#values.set('uid', uid);
    this.#values.set('continue', token ?? '');
  }
}

export const callTitle = (call: Call): string => wireTitle(call);

/** Returns the differences of the answers to a call, a line each. */
export function callDifferences(
  call: Call,
  ours: WireAnswer,
  theirs: WireAnswer,
): readonly string[] {
  const found = [...headerDifferences(call, ours, theirs)];
  if (call.contentDiffers !== undefined) {
    if (ours.code !== theirs.code) found.push(`code: ${ours.code}, reference ${theirs.code}`);
    return found;
  }
  const answer = ({ code, text }: WireAnswer) => {
    const body = sortedManagers(parsed(text));
    return {
      code,
      body: code < 300 && call.part !== undefined ? call.part(body) : body,
      warnings: [],
    };
  };
  return [...found, ...differences(answer(ours), answer(theirs))];
}

export const JSON_TYPE = 'application/json';
export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY = 'application/apply-patch+yaml';

type Headers = Readonly<Record<string, string>>;

export const get = (path: string, accept?: string, headers: Headers = {}): Call => ({
  path,
  headers: { ...(accept !== undefined && { accept }), ...headers },
});

/** Returns a call with a body; a string is sent as it is. */
export const send = (
  method: string,
  path: string,
  body: unknown,
  type = JSON_TYPE,
  headers: Headers = {},
): Call => ({
  method,
  path,
  headers: { 'content-type': type, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

export const post = (path: string, body: unknown, headers: Headers = {}): Call =>
  send('POST', path, body, JSON_TYPE, headers);
export const put = (path: string, body: unknown): Call => send('PUT', path, body);
export const patch = (path: string, body: unknown, type = MERGE): Call =>
  send('PATCH', path, body, type);
export const apply = (path: string, query: string, body: unknown): Call =>
  send('PATCH', `${path}?${query}`, body, APPLY);
export const remove = (path: string, body?: unknown): Call =>
  body === undefined ? { method: 'DELETE', path } : send('DELETE', path, body);

/** Returns the call in the name of another user. */
export const as = (user: string, call: Call, group?: string): Call => ({
  ...call,
  headers: {
    ...call.headers,
    'impersonate-user': user,
    ...(group !== undefined && { 'impersonate-group': group }),
  },
});

export const CORE = '/api/v1/namespaces/default';
export const APPS = '/apis/apps/v1/namespaces/default';

export const configMap = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { a: 'b' },
  ...more,
});

export const podSpec = (more: object = {}): object => ({
  terminationGracePeriodSeconds: 0,
  containers: [{ name: 'c', image: 'busybox' }],
  ...more,
});

export const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: podSpec(spec),
});

export const deployment = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, ...metadata },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec() },
    ...spec,
  },
});
