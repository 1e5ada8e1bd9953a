// Repeats the scheduler's decision about pods without effect, with each plugin's verdict on each node. It reads the
// cluster as a scheduler does and writes nothing: a scheduling cycle stops at the first plugin that rejects, this one
// asks all of them.

import { nodes as nodeType, pods as podType } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { NodeVerdict, PluginVerdict, SchedulingVerdict } from '#client/explain/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { SchedulerCache } from './cache/cache.ts';
import { Snapshot } from './cache/snapshot.ts';
import { readConfiguration } from './config/configuration.ts';
import { Extenders } from './extenders/extenders.ts';
import { CycleState } from './framework/cycle-state.ts';
import { Framework } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import type { Pod } from './framework/objects.ts';
import type { FilterPlugin } from './framework/plugin.ts';
import { PodInfo } from './framework/pod-info.ts';
import type { Status } from './framework/status.ts';
import { untilFinished } from './framework/unfinished.ts';
import { WaitingPods } from './framework/waiting-pods.ts';
import { inTreeRegistry } from './plugins/registry.ts';
import { resolveProfile } from './profile.ts';
import { Nominator } from './queue/nominator.ts';

export interface DryRunConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** As SchedulerConfig.configuration. Extenders that it names are not called. */
  readonly configuration?: unknown;
  readonly signal: AbortSignal;
}

/** Nodes between two turns of the event loop. */
const SLICE_NODES = 100;
/** Nodes of which scores are computed one plugin at a time. */
const MAX_SCORED = 1000;

/**
 * Returns a verdict for each pod, by UID. The pods need not be the cluster's present ones. Rejects with
 * ConfigurationError, and with the signal's reason if it aborts before everything has been read.
 */
export async function dryRun(
  config: DryRunConfig,
  pods: readonly Pod[],
): Promise<ReadonlyMap<string, SchedulingVerdict>> {
  const stop = new AbortController();
  const signal = AbortSignal.any([config.signal, stop.signal]);
  try {
    const run = new DryRun(config, signal);
    await run.read(signal);
    const verdicts = new Map<string, SchedulingVerdict>();
    for (const pod of pods) verdicts.set(pod.metadata.uid, await run.verdict(pod));
    return verdicts;
  } finally {
    stop.abort(new Error('the dry run has ended'));
  }
}

class DryRun {
  readonly #clock: Clock;
  readonly #informers: SharedInformerFactory;
  readonly #cache: SchedulerCache;
  readonly #snapshot = new Snapshot();
  readonly #nominator = new Nominator((node) => this.#snapshot.nominationsChanged(node));
  readonly #frameworks = new Map<string, Framework>();

  constructor(config: DryRunConfig, signal: AbortSignal) {
    const { client, clock, random, logger } = config;
    this.#clock = clock;
    this.#cache = new SchedulerCache({ clock, logger });
    this.#informers = new SharedInformerFactory({ client, clock, random, logger });
    const waitingPods = new WaitingPods();
    const handle = {
      client,
      informers: this.#informers,
      startInformers: () => this.#informers.start(signal),
      clock,
      random,
      logger,
      snapshot: this.#snapshot,
      nominator: this.#nominator,
      waitingPods,
      extenders: new Extenders({ extenders: [], logger, signal }),
      recorderOf: () => undefined,
      activate: () => undefined,
      ended: signal,
    };
    for (const profile of readConfiguration(config.configuration).profiles) {
      const framework = new Framework({
        profileName: profile.schedulerName,
        plugins: resolveProfile(profile, inTreeRegistry, handle),
        clock,
        nominator: this.#nominator,
        waitingPods,
      });
      this.#frameworks.set(profile.schedulerName, framework);
    }
  }

  /** Reads nodes, pods and what plugins want to know, once. */
  async read(signal: AbortSignal): Promise<void> {
    const nodeInformer = this.#informers.informerFor(nodeType);
    const podInformer = this.#informers.informerFor(podType);
    this.#informers.start(signal);
    await this.#informers.waitForCacheSync(signal);
    for (const node of nodeInformer.lister.list()) this.#cache.putNode(node);
    for (const pod of podInformer.lister.list()) {
      const { phase, nominatedNodeName } = pod.status ?? {};
      if (phase === 'Succeeded' || phase === 'Failed') continue;
      const info = new PodInfo(pod);
      if (pod.spec.nodeName) this.#cache.putPod(info);
      else if (nominatedNodeName) this.#nominator.nominate(info, nominatedNodeName);
    }
    this.#cache.updateSnapshot(this.#snapshot);
  }

  async verdict(pod: Pod): Promise<SchedulingVerdict> {
    const profile = pod.spec.schedulerName || 'default-scheduler';
    const framework = this.#frameworks.get(profile);
    if (framework === undefined)
      return {
        ...NOTHING,
        profile,
        error: `its schedulerName ${profile} is no profile of this configuration`,
      };
    try {
      return await this.#verdict(framework, new PodInfo(pod));
    } catch (error) {
      return { ...NOTHING, profile, error: errorMessage(error) };
    }
  }

  async #verdict(framework: Framework, pod: PodInfo): Promise<SchedulingVerdict> {
    const { plugins, profileName: profile } = framework;
    for (const plugin of plugins.preEnqueue) {
      const answer = plugin.preEnqueue(pod);
      if (answer !== undefined)
        return {
          ...NOTHING,
          profile,
          plugins: [plugin.name],
          rejections: [verdictOf(plugin.name, 'PreEnqueue', answer)],
        };
    }
    const all = this.#snapshot.nodes;
    const state = new CycleState();
    const pre = framework.filtering.runPreFilter(state, pod, all);
    if (pre.status !== undefined) {
      const { plugin = '' } = pre.status;
      return {
        ...NOTHING,
        profile,
        plugins: plugins.preFilter.map(({ name }) => name),
        rejections: [verdictOf(plugin, 'PreFilter', pre.status)],
      };
    }
    const filters = framework.filtering.activeFilters(state);
    const nodes: NodeVerdict[] = [];
    const feasible: NodeInfo[] = [];
    for (const [position, node] of all.entries()) {
      if (position % SLICE_NODES === SLICE_NODES - 1) await this.#clock.sleep(0);
      const rejections: PluginVerdict[] =
        pre.nodeNames !== undefined && !pre.nodeNames.has(node.name)
          ? [...pre.narrowedBy].map((plugin) => ({
              plugin,
              point: 'PreFilter',
              code: 'UnschedulableAndUnresolvable',
              reasons: [`node(s) didn't satisfy plugin ${plugin}`],
            }))
          : await untilFinished(() => this.#filter(framework, filters, state, pod, node, position));
      if (rejections.length === 0) feasible.push(node);
      nodes.push({ node: node.name, rejections });
    }
    const scores = this.#scores(framework, state, pod, feasible.slice(0, MAX_SCORED));
    return {
      profile,
      plugins: filters.map(({ name }) => name),
      rejections: [],
      nodes: nodes.map((each) => ({ ...each, ...scores.get(each.node) })),
    };
  }

  /** Returns the verdict of every plugin that rejects the node. */
  #filter(
    framework: Framework,
    filters: readonly FilterPlugin[],
    state: CycleState,
    pod: PodInfo,
    node: NodeInfo,
    position: number,
  ): PluginVerdict[] {
    const rejections = filters.flatMap((plugin) => {
      const answer = plugin.filter(state, pod, node, position);
      return answer === undefined ? [] : [verdictOf(plugin.name, 'Filter', answer)];
    });
    if (rejections.length > 0) return rejections;
    // Pods that were nominated to the node may leave no room.
    const crowded = framework.filtering.runFiltersWithNominatedPods(
      filters,
      state,
      pod,
      node,
      position,
    );
    return crowded === undefined
      ? []
      : [verdictOf(crowded.plugin ?? '', 'Filter (with nominated pods)', crowded)];
  }

  #scores(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: readonly NodeInfo[],
  ): ReadonlyMap<string, Required<Pick<NodeVerdict, 'scores' | 'total'>>> {
    const byNode = new Map(
      nodes.map(({ name }) => [
        name,
        { scores: [] as NonNullable<NodeVerdict['scores']>[number][], total: 0 },
      ]),
    );
    if (nodes.length === 0 || framework.scoring.runPreScore(state, pod, nodes) !== undefined)
      return byNode;
    for (const { plugin, weight } of framework.scoring.activeScores(state)) {
      const scores = nodes.map((node) => plugin.score(state, pod, node));
      if (plugin.normalizeScore?.(state, pod, scores, nodes) !== undefined) continue;
      nodes.forEach(({ name }, index) => {
        const of = byNode.get(name);
        const score = scores[index] ?? 0;
        of?.scores.push({ plugin: plugin.name, score, weight });
        if (of !== undefined) of.total += score * weight;
      });
    }
    return byNode;
  }
}

const NOTHING: SchedulingVerdict = { profile: '', plugins: [], rejections: [], nodes: [] };

function verdictOf(plugin: string, point: string, status: Status): PluginVerdict {
  const { code, reasons } = status;
  return { plugin: status.plugin ?? plugin, point, code, reasons };
}
