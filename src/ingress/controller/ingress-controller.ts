// The ingress component: watches the cluster's objects, decides, configures the proxy, and writes
// statuses.

import { namespaces, type Service, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { ingressClasses, ingresses } from '#api/groups/networking/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { onAbort } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SERVICE_NAME_LABEL } from '#client/endpoints/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { type SharedInformer, SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { decide, type Decision, serviceConflicts } from '../decide/decide.ts';
import type { Facts, IngressObjects } from '../decide/objects.ts';
import { type Problem, problemText } from '../decide/problem.ts';
import type { Proxy } from '../proxy/proxy.ts';
import { publishGatewayClass, publishIngressClass } from '../publish/publish.ts';
import { GatewayKinds } from './gateway-kinds.ts';
import { ReferencedSecrets } from './secrets.ts';
import { StatusWriter } from './status-writer.ts';

export interface IngressControllerConfig {
  /** Needs the permissions in INGRESS_PERMISSIONS. */
  readonly client: Client;
  readonly proxy: Proxy;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly facts: Omit<Facts, 'unavailable'>;
  /**
   * Whether this controller writes statuses. Of several proxies in a cluster, one should. Default:
   * true.
   */
  readonly writesStatuses?: boolean;
}

/** Changes within this time lead to one decision. */
const BATCH_MS = 10;
/**
 * The pause between two decisions, as a multiple of the duration of the last one: many changes
 * leave time for requests.
 */
const PAUSE = 4;
/** The delay after a port could not be opened or a status could not be written. */
const RETRY_MS = 5000;
/** Listeners do not wait longer for a Secret that has not been read. */
const SECRET_MS = 3000;
const BY_SERVICE = 'service';

export class IngressController {
  readonly #config: IngressControllerConfig;
  readonly #informers: SharedInformerFactory;
  readonly #secrets: ReferencedSecrets;
  readonly #gatewayKinds: GatewayKinds;
  readonly #statuses: StatusWriter;
  readonly #recorder: EventRecorder;
  readonly #objects: IngressObjects;
  readonly #services: SharedInformer<Immutable<Service>>;
  #unavailable: ReadonlyMap<string, string> = new Map();
  #problems: ReadonlySet<string> = new Set();
  #wanted = false;
  /** The next planned decision; `due` in monotonic milliseconds. */
  #timer: (Timer & { readonly due: number }) | undefined;
  #deciding: Promise<void> | undefined;
  /** The duration of the last decision. */
  #decisionMs = 0;
  #synced = false;
  #stopped = false;

  constructor(config: IngressControllerConfig) {
    this.#config = config;
    const { client, clock, random, logger } = config;
    const shared = { client, clock, random, logger };
    const onChange = (): void => this.#schedule(Math.max(BATCH_MS, PAUSE * this.#decisionMs));
    this.#informers = new SharedInformerFactory(shared);
    this.#secrets = new ReferencedSecrets({ ...shared, onChange });
    this.#gatewayKinds = new GatewayKinds({
      ...shared,
      onChange,
      onInstalled: () => publishGatewayClass(client),
    });
    this.#statuses = new StatusWriter({
      client,
      clock,
      logger,
      onFailure: () => this.#schedule(RETRY_MS),
    });
    this.#recorder = new EventRecorder({ ...shared, component: 'coxswain-ingress' });
    const follow = <T extends KubeObject>(informer: SharedInformer<T>): SharedInformer<T> => {
      informer.addEventHandler({ onAdd: onChange, onUpdate: onChange, onDelete: onChange });
      return informer;
    };
    const ingressInformer = follow(this.#informers.informerFor(ingresses));
    const classInformer = follow(this.#informers.informerFor(ingressClasses));
    this.#services = follow(this.#informers.informerFor(services));
    const namespaceInformer = follow(this.#informers.informerFor(namespaces));
    const sliceInformer = follow(
      this.#informers.informerFor(endpointSlices, { labelSelector: SERVICE_NAME_LABEL }),
    );
    sliceInformer.addIndexers({
      [BY_SERVICE]: ({ metadata }) => [
        `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL]}`,
      ],
    });
    const kinds = this.#gatewayKinds;
    this.#objects = {
      ingresses: () => ingressInformer.lister.list(),
      ingressClasses: () => classInformer.lister.list(),
      service: (namespace, name) => this.#services.lister.get(namespace, name),
      endpointSlices: (namespace, service) =>
        sliceInformer.lister.byIndex(BY_SERVICE, `${namespace}/${service}`),
      namespace: (name) => namespaceInformer.lister.get('', name),
      secret: (namespace, name) => this.#secrets.get(namespace, name),
      get gatewayApi() {
        return kinds.objects;
      },
    };
  }

  /** The reasons why the proxy cannot listen, by address and port. */
  get unavailable(): ReadonlyMap<string, string> {
    return this.#unavailable;
  }

  /**
   * Runs until the signal aborts, then drains the proxy. Serves nothing before the cluster's
   * objects have synced: a restarted proxy must not answer 404 for routes that it has not read yet.
   *
   * @param onReady called when the first configuration is served
   */
  async run(signal: AbortSignal, onReady: () => void): Promise<void> {
    const { client, logger } = this.#config;
    this.#informers.start(signal);
    const kinds = this.#gatewayKinds.run(signal);
    try {
      await this.#informers.waitForCacheSync(signal);
      await publishIngressClass(client).catch((error: unknown) =>
        logger.warn('IngressClass cannot be created', { reason: errorMessage(error) }),
      );
      signal.throwIfAborted();
      this.#synced = true;
      this.#wanted = true;
      await this.#decideAll();
      onReady();
      await new Promise<void>((resolve) => void onAbort(signal, resolve));
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stopped = true;
      this.#timer?.cancel();
      await this.#deciding;
      this.#recorder.stop();
      await Promise.all([
        this.#statuses.stop(),
        this.#secrets.stop(),
        this.#config.proxy.stop(),
        kinds,
      ]);
      if (signal.aborted) await this.#informers.stopped();
    }
  }

  /** Plans a decision after a delay, unless an earlier one is planned already. */
  #schedule(delayMs: number): void {
    if (!this.#synced || this.#stopped) return;
    const { clock, logger } = this.#config;
    const due = clock.monotonic() + delayMs;
    if (this.#timer !== undefined) {
      if (this.#timer.due <= due) return;
      this.#timer.cancel();
    }
    const { cancel } = clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#wanted = true;
      this.#decideAll().catch((error: unknown) =>
        logger.error('ingress: decision failed', { err: error }),
      );
    });
    this.#timer = { due, cancel };
  }

  /** Decides until nothing has changed since the last decision. */
  #decideAll(): Promise<void> {
    this.#deciding ??= this.#decideLoop().finally(() => (this.#deciding = undefined));
    return this.#deciding;
  }

  async #decideLoop(): Promise<void> {
    const { proxy, writesStatuses = true } = this.#config;
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      const { configuration, statuses, problems } = await this.#decide();
      this.#secrets.sweep();
      this.#report([...problems, ...serviceConflicts(this.#services.lister.list(), configuration)]);
      const unavailable = await proxy.apply(configuration);
      const same = deepEqual([...unavailable], [...this.#unavailable]);
      this.#unavailable = unavailable;
      if (unavailable.size > 0) this.#schedule(RETRY_MS);
      // Statuses depend on the open ports, so another decision follows.
      if (!same) this.#wanted = true;
      else if (writesStatuses) this.#statuses.write(statuses);
    }
  }

  /**
   * Decides once the referenced Secrets have been read. Without the wait, listeners and their
   * statuses would disappear for a moment after a restart or a new reference.
   */
  async #decide(): Promise<Decision> {
    const { clock, facts } = this.#config;
    const decideNow = (): Decision => {
      const start = clock.monotonic();
      const decided = decide(this.#objects, { ...facts, unavailable: this.#unavailable });
      this.#decisionMs = clock.monotonic() - start;
      return decided;
    };
    const decision = decideNow();
    return (await this.#secrets.settle(SECRET_MS)) ? decideNow() : decision;
  }

  /** Logs each problem once, as long as it lasts, and records it as an event of its object. */
  #report(problems: readonly Problem[]): void {
    const { logger, writesStatuses = true } = this.#config;
    for (const problem of problems) {
      const text = problemText(problem);
      if (this.#problems.has(text)) continue;
      logger.warn('ingress: cannot be served', { problem: text });
      const { text: message, ...subject } = problem;
      if (writesStatuses) this.#recorder.event(subject, 'Warning', 'IngressNotServed', message);
    }
    this.#problems = new Set(problems.map(problemText));
  }
}
