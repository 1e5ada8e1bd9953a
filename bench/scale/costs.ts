// The costs that the scale benchmark measures, each as one number per size of cluster, and the
// table of them.

/** How a cost may depend on the size of the cluster. */
export type Growth =
  /** A cost per request, event, heartbeat, pod or node: the same at every size. */
  | 'constant'
  /** A cost of the whole cluster: in proportion to its size. */
  | 'linear';

const COSTS = {
  startPerNode: ['start, per node', 'ms', 'constant'],
  restPerNode: ['at rest, per node and second', 'ms', 'constant'],
  rest: ['at rest, all', 'ms/s', 'linear'],
  createPerPod: ['Deployment to available, per pod', 'ms', 'constant'],
  get: ['get of one pod', 'ms', 'constant'],
  renewal: ['renewal of a lease, by HTTPS', 'ms', 'constant'],
  change: ['change of a pod, with its events', 'ms', 'constant'],
  page: ['list of one page of 500 pods', 'ms', 'constant'],
  listPerThousand: ['list of all pods, per 1,000', 'ms', 'constant'],
  rolloutPerPod: ['rolling update, per pod', 'ms', 'constant'],
  failurePerPod: ['failed nodes, per pod that moves', 'ms', 'constant'],
  restart: ['restart until ready', 'ms', 'linear'],
  restartPerPod: ['restart until all is Ready, per pod', 'ms', 'constant'],
  heapPerNode: ['heap, per node without pods', 'kB', 'constant'],
  heapServerPerPod: ['heap of the API server, per pod', 'kB', 'constant'],
  heapComponentsPerPod: ['heap of the components, per pod', 'kB', 'constant'],
  podJson: ['a stored pod: its JSON', 'kB', 'constant'],
  podStored: ['a stored pod: in memory', 'kB', 'constant'],
  podDecoded: ['a decoded pod', 'kB', 'constant'],
  podDecodedKept: ['a decoded pod without managedFields', 'kB', 'constant'],
  podDecodedShared: ['the same, with parts shared among pods of a template', 'kB', 'constant'],
  residentMB: ['resident', 'MB', 'linear'],
} as const satisfies Record<string, readonly [what: string, unit: string, growth: Growth]>;

export type CostName = keyof typeof COSTS;
/** The costs of one size. */
export type Costs = Readonly<Record<CostName, number>>;

export interface Size {
  readonly nodes: number;
  readonly pods: number;
}

export interface Result {
  readonly size: Size;
  readonly costs: Costs;
}

/** Returns the costs as a table in Markdown: a row per cost, a column per size. */
export function tableOf(results: readonly Result[]): string {
  const sizes = results.map(({ size }) => `${number(size.nodes)} / ${number(size.pods)}`);
  const names = Object.keys(COSTS) as CostName[];
  const rows = names.map((name) => {
    const [what, unit, growth] = COSTS[name];
    const values = results.map(({ costs }) => costs[name]);
    return [`${what} (${unit})`, ...values.map(number), growthOf(results, values, growth)];
  });
  const lines = [['nodes / pods', ...sizes, 'growth'], ['', '', ''], ...rows];
  const columns = sizes.length + 2;
  lines[1] = Array.from({ length: columns }, (_, i) => (i === 0 ? '---' : '---:'));
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Returns the growth from the first size to the last: of costs that should be constant their
 * ratio; of costs of the whole cluster their ratio divided by that of the pods.
 */
function growthOf(results: readonly Result[], values: readonly number[], growth: Growth): string {
  const [first, last] = [results[0], results.at(-1)];
  const [from, to] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined || first === last) return '';
  if (from === undefined || to === undefined || !(from > 0) || !Number.isFinite(to)) return '';
  const scale = growth === 'constant' ? 1 : last.size.pods / first.size.pods;
  return `× ${(to / from / scale).toFixed(2)}`;
}

function number(value: number): string {
  // A cost per pod of a cluster without pods.
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 1 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}
