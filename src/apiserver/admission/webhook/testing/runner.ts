// Runs the cases against a server: configures their webhooks, sends their requests, and records the
// results.

import type { ReceivedRequest, WebhookServer } from '#apiserver/webhooks/testing/webhook-server.ts';
import { allow, type Behaviour, deny, drip, hang, type Review } from './behaviours.ts';
import type { Case, CaseHook, CaseRequest } from './cases.ts';
import { normalized } from './normalized.ts';

export interface CaseAnswer {
  readonly code: number;
  /** The parsed body if it is JSON, else its text. */
  readonly body: unknown;
  readonly warnings: readonly string[];
}

export type Send = (request: CaseRequest) => Promise<CaseAnswer>;

/**
 * The result of one request: the client's response, and the requests that the webhooks received, in
 * order.
 */
export interface Outcome {
  readonly answer: unknown;
  readonly received: readonly {
    readonly hook: number;
    readonly url: string;
    readonly body: unknown;
  }[];
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RESOURCES = {
  mutating: 'mutatingwebhookconfigurations',
  validating: 'validatingwebhookconfigurations',
} as const;
const TYPES = ['mutating', 'validating'] as const;
/**
 * The configuration of the marker webhooks, which deny the marker object. It is written after a
 * case's webhooks. Once the server calls the marker webhooks, it also has those of the case.
 */
const MARKER = 'z-marker';
const MARKER_PATH = '/api/v1/namespaces/default/limitranges?dryRun=All';
const MARKED = {
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name: 'marker' },
  spec: { limits: [] },
};
const MAX_POLLS = 2000;
const REMOVE: CaseRequest = { method: 'DELETE', path: '/api/v1/namespaces/default/configmaps/m' };
const USUAL_RULES = [
  { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['configmaps'] },
];

export class CaseRunner {
  readonly #send: Send;
  readonly #webhook: WebhookServer;
  /**
   * Distinguishes the requests of this server from those of another one that uses the same webhook
   * server.
   */
  readonly #side: string;
  readonly #received: ReceivedRequest[] = [];
  #hooks: readonly CaseHook[] = [];

  readonly #onHang: () => Promise<void>;
  #hanging: Promise<void> = Promise.resolve();

  /**
   * Creates a runner. `onHang`: called when a request reaches a webhook that never responds. The
   * next request waits for its result.
   */
  constructor(config: {
    readonly send: Send;
    readonly webhook: WebhookServer;
    readonly side: string;
    readonly onHang?: () => Promise<void>;
  }) {
    this.#send = config.send;
    this.#onHang = config.onHang ?? (() => Promise.resolve());
    this.#webhook = config.webhook;
    this.#side = config.side;
  }

  /** Responds to a webhook request of this server. */
  serve(
    request: ReceivedRequest,
    response: Parameters<WebhookServer['handler']>[1],
    socket: Parameters<WebhookServer['handler']>[2],
  ): void {
    const [, , hook = ''] = request.url.split(/[/?]/);
    const isMarker = hook === 'marker';
    if (!isMarker) this.#received.push(request);
    const review = request.body === '' ? undefined : (JSON.parse(request.body) as Review);
    const behaviour: Behaviour = isMarker
      ? deny({ message: 'marker' })
      : (this.#hooks[Number(hook)]?.behaviour ?? allow);
    if (review === undefined) response.writeHead(404, { 'content-type': 'text/plain' }).end('none');
    else behaviour({ request, review, response, socket });
    if (behaviour === hang || behaviour === drip) this.#hanging = this.#onHang();
  }

  async run(each: Case): Promise<readonly Outcome[]> {
    for (const request of each.before ?? []) await this.#sendUntil(request);
    this.#hooks = each.hooks;
    const configurations = [
      ...this.#configurations(each),
      ...TYPES.map((type) => this.#marker(type)),
    ];
    try {
      for (const { path, body } of configurations) {
        const { code, body: answer } = await this.#send({ method: 'POST', path, body });
        if (code !== 201) throw new Error(`${each.name}: ${JSON.stringify(answer)}`);
      }
      await this.#await(true);
      const outcomes: Outcome[] = [];
      for (const request of each.requests) {
        this.#received.length = 0;
        const response = await this.#send(request);
        await this.#hanging;
        outcomes.push({
          answer: this.#normalized(response),
          received: this.#receivedInOrder(each),
        });
      }
      return outcomes;
    } finally {
      for (const { path, name } of configurations)
        await this.#send({ method: 'DELETE', path: `${path}/${name}` });
      await this.#await(false);
      for (const request of [...(each.cleanup ?? []), REMOVE]) await this.#send(request);
    }
  }

  async #sendUntil(request: CaseRequest): Promise<void> {
    for (let polls = 0; ; polls++) {
      const { code } = await this.#send(request);
      if (request.until === undefined || code === request.until) return;
      if (polls > MAX_POLLS) throw new Error(`${request.path} is answered ${code}`);
    }
  }

  #configurations({
    hooks,
  }: Case): { readonly path: string; readonly name: string; readonly body: object }[] {
    const byName = new Map<string, { path: string; name: string; webhooks: object[] }>();
    hooks.forEach((hook, index) => {
      const { type, configuration = 'a', fields = {}, clientConfig } = hook;
      const key = `${type} ${configuration}`;
      const entry = byName.get(key) ?? {
        path: `${ADMISSION}/${RESOURCES[type]}`,
        name: configuration,
        webhooks: [],
      };
      byName.set(key, entry);
      entry.webhooks.push({
        name: `h${index}.hooks.example.com`,
        clientConfig:
          clientConfig === undefined
            ? this.#client(String(index))
            : this.#filled(clientConfig, index),
        rules: USUAL_RULES,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...fields,
      });
    });
    return [...byName.values()].map(({ path, name, webhooks }) => ({
      path,
      name,
      body: { metadata: { name }, webhooks },
    }));
  }

  #marker(type: (typeof TYPES)[number]): {
    readonly path: string;
    readonly name: string;
    readonly body: object;
  } {
    const rules = [
      { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['limitranges'] },
    ];
    const webhook = {
      name: `${type}.marker.example.com`,
      clientConfig: this.#client('marker'),
      rules,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      // Both types of markers share one webhook server. The order of calls distinguishes them: the
      // validating one is called only when the mutating one is not.
      objectSelector: { matchLabels: { marker: type } },
    };
    return {
      path: `${ADMISSION}/${RESOURCES[type]}`,
      name: MARKER,
      body: { metadata: { name: MARKER }, webhooks: [webhook] },
    };
  }

  #client(path: string): object {
    return { url: `${this.#webhook.url}/${this.#side}/${path}`, caBundle: this.#webhook.caBundle };
  }

  /** Fills in the placeholders of a case's client config. */
  #filled(clientConfig: object, index: number): unknown {
    const { port, caBundle } = this.#webhook;
    const text = JSON.stringify(clientConfig)
      .replaceAll('"PORT"', String(port))
      .replaceAll('PORT', String(port))
      .replaceAll('"CA"', JSON.stringify(caBundle))
      .replaceAll('PATH', `/${this.#side}/${index}`);
    return JSON.parse(text);
  }

  /** Waits until the server denies the markers, or admits them again. */
  async #await(denied: boolean): Promise<void> {
    for (const type of TYPES) {
      const body = { ...MARKED, metadata: { ...MARKED.metadata, labels: { marker: type } } };
      for (let polls = 0; ; polls++) {
        const { code } = await this.#send({ method: 'POST', path: MARKER_PATH, body });
        if ((code === 400) === denied) break;
        if (polls > MAX_POLLS)
          throw new Error(
            `the webhook configurations do not become ${denied ? 'known' : 'unknown'}`,
          );
      }
    }
  }

  /**
   * Returns the received requests. Mutating webhooks are called in order, validating ones
   * concurrently.
   */
  #receivedInOrder({ withoutBodies = false }: Case): Outcome['received'] {
    const entries = this.#received.map(({ url, body }) => {
      const last = url.split(/[/?]/)[2] ?? '';
      // A redirect may lead to another path.
      const hook = /^\d+$/.test(last) ? Number(last) : -1;
      const review: unknown = body === '' || withoutBodies ? null : JSON.parse(body);
      return { hook, url: this.#text(url), body: this.#normalized(review) };
    });
    const of = (type: CaseHook['type']): typeof entries =>
      entries.filter(({ hook }) => (this.#hooks[hook]?.type ?? 'validating') === type);
    return [...of('mutating'), ...of('validating').toSorted((a, b) => a.hook - b.hook)];
  }

  #normalized(value: unknown): unknown {
    return normalized(value, (text) => this.#text(text));
  }

  #text(text: string): string {
    return text
      .replaceAll(String(this.#webhook.port), 'PORT')
      .replaceAll(`/${this.#side}/`, '/SIDE/');
  }
}
