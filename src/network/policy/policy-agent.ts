// The agent of a node: watches policies, namespaces and pods, computes the rules, and has a back
// end program them.
//
// While the cluster has no policy, only policies are watched and nothing is programmed. The first
// policy makes the agent list namespaces and pods. Changes are collected while a transaction runs;
// the next transaction contains all of them.

import { namespaces, pods } from '#api/groups/core/v1/index.ts';
import { networkPolicies } from '#api/groups/networking/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory, type SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { nextTurn, type Steps } from '#machinery/turn.ts';
import type { Announcements } from './announcements.ts';
import type {
  CompiledPolicy,
  Namespace,
  NetworkPolicy,
  Pod,
  PolicyBackend,
  PolicyPod,
  RulesChange,
} from './model.ts';
import { PolicyState } from './policy-state.ts';
import { compileInSteps } from './rules/compile.ts';
import { podFacts } from './rules/pod-facts.ts';

export interface PolicyAgentConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly backend: PolicyBackend;
  readonly announcements: Announcements;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called after each transaction with the keys of the announced pods in it. */
  readonly onProgrammed: (pods: ReadonlySet<string>) => void;
}

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** The time for work in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
/** The period of checking whether another program has removed the table. */
const PRESENCE_PERIOD_MS = 60_000;
/** The period of replacing the table, which repairs changes by other programs. */
const FULL_SYNC_PERIOD_MS = 3_600_000;

interface Peers {
  readonly namespaces: SharedInformer<Namespace>;
  readonly pods: SharedInformer<Pod>;
}

interface Dirty {
  readonly namespaces: Set<string>;
  readonly policies: Set<string>;
  readonly pods: Set<string>;
}

const clean = (): Dirty => ({ namespaces: new Set(), policies: new Set(), pods: new Set() });

export class PolicyAgent {
  readonly #config: PolicyAgentConfig;
  readonly #informers: SharedInformerFactory;
  readonly #policies: SharedInformer<NetworkPolicy>;
  #peers: Peers | undefined;
  readonly #state = new PolicyState();
  #dirty = clean();
  /** The next transaction replaces the table. */
  #complete = true;
  /** Announced pods that wait for a transaction. */
  #waiting = new Set<string>();
  #wake: (() => void) | undefined;
  /** Callbacks for each event of a policy. */
  readonly #followers = new Set<() => void>();
  #turnBegan = 0;
  #incompleteGroups = 0;

  constructor(config: PolicyAgentConfig) {
    this.#config = config;
    this.#informers = new SharedInformerFactory(config);
    this.#policies = this.#informers.informerFor(networkPolicies);
  }

  /** Handles a pod that the kubelet has announced or dropped. */
  announced(key: string): void {
    this.#waiting.add(key);
    this.#mark('pods', key);
  }

  /**
   * Resolves when the agent has seen every policy that the namespace has now: a policy that is
   * older than a pod applies to it, even if its event is late. Rejects if the API server cannot be
   * reached, and with the signal's reason when the signal aborts.
   */
  async catchUp(namespace: string, signal: AbortSignal): Promise<void> {
    const { items } = await this.#config.client
      .resource(networkPolicies)
      .namespace(namespace)
      .list({ signal });
    const revisions = items.map(({ metadata }) => revisionOf(metadata.resourceVersion));
    const isBehind = (): boolean => {
      const seen = revisionOf(this.#policies.lastSyncResourceVersion);
      return revisions.some((revision) => revision > seen);
    };
    while (isBehind()) await this.#nextPolicyEvent(signal);
  }

  #nextPolicyEvent(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#followers.delete(done);
        signal.removeEventListener('abort', done);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      this.#followers.add(done);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }

  /** Runs until the signal aborts. Programmed rules stay. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const onPolicy = (policy: NetworkPolicy, isChanged = true): void => {
      if (isChanged) this.#mark('policies', keyOf(policy));
      for (const follower of this.#followers) follower();
    };
    this.#policies.addEventHandler({
      onAdd: (policy) => onPolicy(policy),
      onUpdate: (previous, policy) => onPolicy(policy, !deepEqual(previous.spec, policy.spec)),
      onDelete: (policy) => onPolicy(policy),
    });
    const timers = [
      clock.setInterval(FULL_SYNC_PERIOD_MS, () => this.#syncAll()),
      clock.setInterval(PRESENCE_PERIOD_MS, () => void this.#checkPresence()),
    ];
    const stopped = (): void => this.#wake?.();
    signal.addEventListener('abort', stopped);
    try {
      this.#informers.start(signal);
      await this.#informers.waitForCacheSync(signal);
      await this.#syncUntil(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', stopped);
      for (const timer of timers) timer.cancel();
      if (signal.aborted) await this.#informers.stopped();
    }
  }

  async #syncUntil(signal: AbortSignal): Promise<void> {
    const { backend, clock, logger, onProgrammed } = this.#config;
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      if (!this.#hasWork()) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
        // Events of one API transaction arrive in one turn or the next.
        await nextTurn();
        continue;
      }
      const waiting = this.#waiting;
      const isComplete = this.#complete;
      this.#waiting = new Set();
      this.#complete = false;
      try {
        const start = clock.monotonic();
        const change = await this.#update(signal);
        if (change === undefined) await backend.clear();
        else await backend.sync(this.#state.rules, isComplete ? undefined : change);
        if (change !== undefined) {
          const counts = {
            addresses: change.pods.size,
            policies: change.policies.size,
            groups: change.groups.size,
          };
          logger.debug('network policies: rules synced', {
            ...counts,
            complete: isComplete,
            ms: clock.monotonic() - start,
          });
        }
        onProgrammed(waiting);
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        if (signal.aborted) return;
        this.#complete = true;
        for (const key of waiting) this.#waiting.add(key);
        logger.error('network policies: sync failed, retrying', { delayMs: retryMs, err: error });
        await clock.sleep(retryMs, signal).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
      }
    }
  }

  #hasWork(): boolean {
    const { namespaces: names, policies, pods: keys } = this.#dirty;
    return (
      this.#complete ||
      this.#waiting.size > 0 ||
      names.size > 0 ||
      policies.size > 0 ||
      keys.size > 0
    );
  }

  /** Updates the state. Returns undefined if there is no policy, and never was one. */
  async #update(signal: AbortSignal): Promise<RulesChange | undefined> {
    if (this.#peers === undefined && this.#policies.lister.list().length === 0) {
      this.#dirty = clean();
      return undefined;
    }
    const peers = (this.#peers ??= await this.#followPeers(signal));
    const dirty = this.#dirty;
    this.#dirty = clean();
    this.#turnBegan = this.#config.clock.monotonic();
    try {
      for (const name of dirty.namespaces) {
        const namespace = peers.namespaces.lister.getByKey(name);
        await this.#do(
          this.#state.setNamespace(
            name,
            namespace === undefined ? undefined : (namespace.metadata.labels ?? {}),
          ),
        );
        dirty.namespaces.delete(name);
      }
      for (const key of dirty.policies) {
        await this.#do(this.#state.setPolicy(key, await this.#compile(key)));
        dirty.policies.delete(key);
      }
      for (const key of dirty.pods) {
        await this.#do(this.#state.setPod(key, this.#facts(key, peers.pods)));
        dirty.pods.delete(key);
      }
    } finally {
      // After an error, the next attempt handles the rest.
      for (const kind of ['namespaces', 'policies', 'pods'] as const)
        for (const key of dirty[kind]) this.#dirty[kind].add(key);
    }
    if (this.#state.incompleteGroups > 0) await this.#do(this.#state.complete());
    this.#reportIncomplete(this.#state.incompleteGroups);
    return this.#state.takeChange();
  }

  /** Logs the number of incomplete groups, once per number. */
  #reportIncomplete(groups: number): void {
    if (groups === this.#incompleteGroups) return;
    this.#incompleteGroups = groups;
    if (groups === 0) this.#config.logger.info('network policies: all peers are allowed again');
    else
      this.#config.logger.error(
        'network policies: too many addresses, some peers are not allowed',
        { groups },
      );
  }

  async #compile(key: string): Promise<CompiledPolicy | undefined> {
    const policy = this.#policies.lister.getByKey(key);
    if (policy === undefined) return undefined;
    const compiled = await this.#do(compileInSteps(policy));
    for (const problem of compiled.problems) {
      this.#config.logger.warn('network policies: part of a policy allows nothing', {
        policy: key,
        problem,
      });
    }
    return compiled;
  }

  #facts(key: string, informer: SharedInformer<Pod>): PolicyPod | undefined {
    const { nodeName, announcements } = this.#config;
    const pod = informer.lister.getByKey(key);
    const announced = announcements.get(key);
    // The kubelet's pod counts if the API has another pod with its name, or has none yet or any
    // more: it is the pod that runs here.
    const known =
      announced !== undefined && pod?.metadata.uid !== announced.pod.metadata.uid
        ? announced.pod
        : pod;
    return known === undefined ? undefined : podFacts(known, nodeName, announced);
  }

  async #followPeers(signal: AbortSignal): Promise<Peers> {
    const { nodeName, announcements } = this.#config;
    const followed = {
      namespaces: this.#informers.informerFor(namespaces),
      pods: this.#informers.informerFor(pods),
    };
    const onNamespace = ({ metadata }: Namespace): void => this.#mark('namespaces', metadata.name);
    followed.namespaces.addEventHandler({
      onAdd: onNamespace,
      onUpdate: (previous, namespace) => {
        if (!deepEqual(previous.metadata.labels, namespace.metadata.labels)) onNamespace(namespace);
      },
      onDelete: onNamespace,
    });
    const onPod = (pod: Pod): void => this.#mark('pods', keyOf(pod));
    followed.pods.addEventHandler({
      onAdd: onPod,
      onUpdate: (previous, pod) => {
        if (!deepEqual(podFacts(previous, nodeName, undefined), podFacts(pod, nodeName, undefined)))
          onPod(pod);
        else if (previous.metadata.uid !== pod.metadata.uid) onPod(pod);
      },
      onDelete: onPod,
    });
    for (const key of announcements.keys()) this.#mark('pods', key);
    this.#informers.start(signal);
    await this.#informers.waitForCacheSync(signal);
    return followed;
  }

  async #do<T>(steps: Steps<T>): Promise<T> {
    const { clock } = this.#config;
    for (;;) {
      const { done, value } = steps.next();
      if (clock.monotonic() - this.#turnBegan >= TURN_MS) {
        await nextTurn();
        this.#turnBegan = clock.monotonic();
      }
      if (done === true) return value;
    }
  }

  #mark(kind: keyof Dirty, key: string): void {
    this.#dirty[kind].add(key);
    this.#wake?.();
  }

  #syncAll(): void {
    this.#complete = true;
    this.#wake?.();
  }

  async #checkPresence(): Promise<void> {
    const { backend, logger } = this.#config;
    try {
      if (await backend.isPresent()) return;
      logger.warn('network policies: another program has removed the rules, adding them again');
      this.#syncAll();
    } catch (error) {
      logger.warn('network policies: cannot see whether the rules are present', { err: error });
    }
  }
}

/** Returns a resourceVersion as a number: versions of one server are growing numbers. */
const revisionOf = (text = ''): bigint => (/^\d+$/.test(text) ? BigInt(text) : 0n);

const keyOf = ({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string; readonly name: string };
}): string => `${metadata.namespace ?? ''}/${metadata.name}`;
