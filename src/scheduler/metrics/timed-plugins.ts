// Plugins that say how long they took. Only some cycles use them, so that in all others nothing is measured for each plugin.

import type { PluginsByPoint } from '../framework/framework.ts';
import type { Plugin } from '../framework/plugin.ts';
import { type Code, Status } from '../framework/status.ts';
import type { SchedulerMetrics } from './scheduler-metrics.ts';

/** Of calls for very many nodes, one in so many is timed. */
const EVERY = 16;

/** Method → what kube-scheduler's metrics call it. */
const TIMED: Readonly<Record<string, string>> = {
  preFilter: 'PreFilter',
  addPod: 'PreFilterExtensionAddPod',
  removePod: 'PreFilterExtensionRemovePod',
  filter: 'Filter',
  postFilter: 'PostFilter',
  preScore: 'PreScore',
  score: 'Score',
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

/** The same plugins, timed. */
export function timedPlugins(plugins: PluginsByPoint, metrics: SchedulerMetrics): PluginsByPoint {
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

function timedPlugin<P extends Plugin>(plugin: P, metrics: SchedulerMetrics): P {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(plugin, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      let method = methods.get(key);
      if (method === undefined) {
        const bound = (value as Method).bind(target);
        const point = TIMED[String(key)];
        method = point === undefined ? bound : timedMethod(bound, plugin.name, point, MANY_TIMES.has(String(key)), metrics);
        methods.set(key, method);
      }
      return method;
    },
  });
}

function timedMethod(method: Method, plugin: string, point: string, often: boolean, metrics: SchedulerMetrics): Method {
  let calls = 0;
  return (...args) => {
    if (often && calls++ % EVERY !== 0) return method(...args);
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
}

/** Some extension points answer a status, some an object with one in it, others what is no status at all. */
function codeIn(answer: unknown): Code {
  const status: unknown =
    typeof answer === 'object' && answer !== null && 'status' in answer && !(answer instanceof Status) ? answer.status : answer;
  return status instanceof Status ? status.code : 'Success';
}
