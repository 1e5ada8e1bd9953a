// Wraps plugins to measure their durations. Only some cycles use the wrappers, so that the others
// have no overhead per plugin.

import type { Plugin, PluginsByPoint } from './plugin.ts';
import { type Code, Status } from './status.ts';
import type { FrameworkMetrics } from './metrics.ts';

/** One of this number of calls is timed, for methods that are called for each node. */
const EVERY = 16;

/** Method → the name of its extension point in kube-scheduler's metrics. */
const TIMED: Readonly<Record<string, string>> = {
  preFilter: 'PreFilter',
  addPod: 'PreFilterExtensionAddPod',
  removePod: 'PreFilterExtensionRemovePod',
  filter: 'Filter',
  postFilter: 'PostFilter',
  preScore: 'PreScore',
  score: 'Score',
  scoreByPosition: 'Score',
  normalizeScore: 'ScoreExtensionNormalize',
  reserve: 'Reserve',
  unreserve: 'Unreserve',
  permit: 'Permit',
  preBind: 'PreBind',
  bind: 'Bind',
  postBind: 'PostBind',
};
const MANY_TIMES: ReadonlySet<string> = new Set(['filter', 'score', 'addPod', 'removePod']);

type Method = (...args: readonly unknown[]) => unknown;

/** Returns the same plugins, timed. */
export function timedPlugins(
  plugins: PluginsByPoint,
  metrics: Pick<FrameworkMetrics, 'now' | 'pluginRan'>,
): PluginsByPoint {
  const made = new Map<Plugin, Plugin>();
  const timed = <P extends Plugin>(plugin: P): P => {
    const known = made.get(plugin) ?? timedPlugin(plugin, metrics);
    made.set(plugin, known);
    return known as P;
  };
  return {
    preEnqueue: plugins.preEnqueue,
    queueSort: plugins.queueSort,
    preFilter: plugins.preFilter.map(timed),
    filter: plugins.filter.map(timed),
    postFilter: plugins.postFilter.map(timed),
    preScore: plugins.preScore.map(timed),
    score: plugins.score.map(({ plugin, weight }) => ({ plugin: timed(plugin), weight })),
    reserve: plugins.reserve.map(timed),
    permit: plugins.permit.map(timed),
    preBind: plugins.preBind.map(timed),
    bind: plugins.bind.map(timed),
    postBind: plugins.postBind.map(timed),
  };
}

/**
 * Returns an object with own methods, like any plugin: an extra indirection would be measurable
 * with hundreds of nodes.
 */
function timedPlugin<P extends Plugin>(
  plugin: P,
  metrics: Pick<FrameworkMetrics, 'now' | 'pluginRan'>,
): P {
  const timed = {};
  for (const key of membersOf(plugin)) {
    const value: unknown = Reflect.get(plugin, key);
    if (typeof value === 'function') {
      const bound = (value as Method).bind(plugin);
      const point = TIMED[key];
      Reflect.set(
        timed,
        key,
        point === undefined
          ? bound
          : timedMethod(bound, plugin.name, point, MANY_TIMES.has(key), metrics),
      );
    } else
      Object.defineProperty(timed, key, {
        get: () => Reflect.get(plugin, key) as unknown,
        enumerable: true,
      });
  }
  return timed as P;
}

function membersOf(plugin: Plugin): ReadonlySet<string> {
  const names = new Set<string>();
  for (
    let at: object | null = plugin;
    at !== null && at !== Object.prototype;
    at = Reflect.getPrototypeOf(at)
  ) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name);
  }
  return names;
}

function timedMethod(
  method: Method,
  plugin: string,
  point: string,
  often: boolean,
  metrics: Pick<FrameworkMetrics, 'now' | 'pluginRan'>,
): Method {
  const timed: Method = (...args) => {
    const start = metrics.now();
    const answer = method(...args);
    if (!(answer instanceof Promise)) {
      metrics.pluginRan(plugin, point, codeIn(answer), start);
      return answer;
    }
    return answer.then((settled: unknown) => {
      metrics.pluginRan(plugin, point, codeIn(settled), start);
      return settled;
    });
  };
  if (!often) return timed;
  let calls = 0;
  // No such method has more arguments.
  return (a, b, c, d) => (calls++ % EVERY === 0 ? timed(a, b, c, d) : method(a, b, c, d));
}

/**
 * Returns the code of a result: some extension points return a status, some an object with a
 * status, others another value.
 */
function codeIn(answer: unknown): Code {
  const status: unknown =
    typeof answer === 'object' &&
    answer !== null &&
    'status' in answer &&
    !(answer instanceof Status)
      ? answer.status
      : answer;
  return status instanceof Status ? status.code : 'Success';
}
