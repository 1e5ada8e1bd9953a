// The plugins of one profile at each extension point, and the metrics of their calls.

import type { Counter } from '#machinery/metrics/instruments.ts';
import { type CycleState, type StateKey, stateKey } from './cycle-state.ts';
import type { FrameworkMetrics } from './metrics.ts';
import type {
  FilterPlugin,
  Plugin,
  PluginsByPoint,
  PreFilterPlugin,
  WeightedScorePlugin,
} from './plugin.ts';
import { Remainder } from './skipped.ts';
import { type Code, Status } from './status.ts';
import { timedPlugins } from './timed-plugins.ts';

/** The plugins of the profile that apply to the pod of this cycle. */
interface Filters {
  readonly filter: readonly FilterPlugin[];
  readonly preFilter: readonly PreFilterPlugin[];
}

interface Scores {
  readonly all: readonly WeightedScorePlugin[];
  /** Plugins whose scores of a node may be the same for all pods of a template. */
  readonly remembered: readonly WeightedScorePlugin[];
  readonly others: readonly WeightedScorePlugin[];
}

const ACTIVE_FILTERS: StateKey<Filters> = stateKey('framework/filters');
const ACTIVE_SCORES: StateKey<Scores> = stateKey('framework/scores');

/** Separates plugins' templates in the profile's template. It occurs in no text of the API. */
export const SEPARATOR = '\0';

export interface PluginCallsConfig {
  readonly profileName: string;
  readonly plugins: PluginsByPoint;
  /** Default: no metrics. */
  readonly metrics?: FrameworkMetrics;
}

export class PluginCalls {
  readonly plugins: PluginsByPoint;
  readonly #profileName: string;
  readonly #metrics: FrameworkMetrics | undefined;
  /** The same as `plugins`, with timing of each plugin. */
  readonly #timedPlugins: PluginsByPoint;
  /** The plugins without those that skip, of `plugins` and of #timedPlugins. */
  readonly #active: Active;
  readonly #timedActive: Active;
  /** By plugin, for each extension point: the number of calls. */
  readonly #asked = {
    PreFilter: new Map<string, Counter>(),
    Filter: new Map<string, Counter>(),
    PreScore: new Map<string, Counter>(),
    Score: new Map<string, Counter>(),
  };

  constructor({ profileName, plugins, metrics }: PluginCallsConfig) {
    this.plugins = plugins;
    this.#profileName = profileName;
    this.#metrics = metrics;
    this.#timedPlugins = metrics === undefined ? plugins : timedPlugins(plugins, metrics);
    this.#active = new Active(plugins);
    this.#timedActive = new Active(this.#timedPlugins);
  }

  /** Begins a cycle: decides whether its calls are timed. */
  begin(state: CycleState): void {
    state.timed = this.#metrics?.samplesCycle() ?? false;
  }

  /** Returns the plugins for this cycle. */
  of(state: CycleState): PluginsByPoint {
    return state.timed ? this.#timedPlugins : this.plugins;
  }

  #activeOf(state: CycleState): Active {
    return state.timed ? this.#timedActive : this.#active;
  }

  /** Keeps the PreFilter and Filter plugins of this cycle: all except for those that skip. */
  skipFilters(state: CycleState, skipped: readonly string[]): void {
    state.write(ACTIVE_FILTERS, this.#activeOf(state).filters.of(skipped));
  }

  /** Keeps the Score plugins of this cycle: all except for those that skip. */
  skipScores(state: CycleState, skipped: readonly string[]): void {
    state.write(ACTIVE_SCORES, this.#activeOf(state).scores.of(skipped));
  }

  /** Returns the Filter plugins of this cycle. Must be called after skipFilters. */
  activeFilters(state: CycleState): readonly FilterPlugin[] {
    return state.read(ACTIVE_FILTERS)?.filter ?? this.plugins.filter;
  }

  activePreFilters(state: CycleState): readonly PreFilterPlugin[] {
    return state.read(ACTIVE_FILTERS)?.preFilter ?? this.plugins.preFilter;
  }

  /** Returns the Score plugins of this cycle. Must be called after skipScores. */
  activeScores(state: CycleState): Scores {
    return state.read(ACTIVE_SCORES) ?? this.#activeOf(state).scores.of([]);
  }

  /** Returns milliseconds, for `pointRan`. */
  now(): number {
    return this.#metrics?.now() ?? 0;
  }

  /** Records that all plugins of the extension point have run, since `start`. */
  pointRan(point: string, code: Code, start: number): void {
    this.#metrics?.pointRan(point, code, this.#profileName, start);
  }

  /** Counts so many calls of the plugin. */
  wasAsked(
    point: 'PreFilter' | 'Filter' | 'PreScore' | 'Score',
    plugin: string,
    times: number,
  ): void {
    if (this.#metrics === undefined) return;
    const counters = this.#asked[point];
    let counter = counters.get(plugin);
    if (counter === undefined) {
      counter = this.#metrics.evaluations(plugin, point, this.#profileName);
      counters.set(plugin, counter);
    }
    counter.value += times;
  }
}

/** The plugins of a profile without those that skip. */
class Active {
  readonly filters: Remainder<Filters>;
  readonly scores: Remainder<Scores>;

  constructor({ filter, preFilter, score }: PluginsByPoint) {
    this.filters = new Remainder((skipped) => ({
      filter: filter.filter(({ name }) => !skipped.has(name)),
      preFilter: preFilter.filter(({ name }) => !skipped.has(name)),
    }));
    this.scores = new Remainder((skipped) => {
      const all = score.filter(({ plugin }) => !skipped.has(plugin.name));
      const mayRemember = ({ plugin }: WeightedScorePlugin): boolean =>
        plugin.normalizeScore === undefined && plugin.scoreTemplate !== undefined;
      return {
        all,
        remembered: all.filter(mayRemember),
        others: all.filter((plugin) => !mayRemember(plugin)),
      };
    });
  }
}

/** Returns an Error status for an unexpected status code, with the plugin and extension point. */
export function asError(status: Status, plugin: Plugin, point: string): Status {
  const what =
    point === 'Filter'
      ? `running "${plugin.name}" filter plugin`
      : `running ${point} plugin "${plugin.name}"`;
  return new Status('Error', [`${what}: ${status.message}`], plugin.name, status.cause);
}
