// Reads a kubelet's /stats/summary into a sample of the node. Pure. A kubelet may be of any version
// and may be broken, so fields of the wrong type count as absent.

/** A measurement of a node or a container. Times are wall-clock ms. */
export interface Point {
  /** When the CPU was measured. */
  readonly time: number;
  /** The CPU time since the start, in nanoseconds. */
  readonly cpuNanoseconds: number;
  /** The rate that the kubelet has computed itself, in nanoseconds per second. */
  readonly nanoCores?: number;
  readonly memoryBytes: number;
  /** When the container started; 0 if that is not known. */
  readonly startedAt: number;
}

export interface NodeSample {
  /** Absent: the kubelet has not measured the node. */
  readonly node?: Point;
  /** By `podKey`: the containers by name. Containers without a measurement have undefined. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point | undefined>>;
}

export const podKey = (namespace: string, name: string): string => `${namespace}/${name}`;

type Fields = Readonly<Record<string, unknown>>;

/** Returns the sample in a parsed summary. */
export function readSummary(summary: unknown): NodeSample {
  const { node, pods } = fieldsOf(summary);
  const point = pointOf(fieldsOf(node));
  const samples = new Map<string, ReadonlyMap<string, Point | undefined>>();
  for (const pod of listOf(pods)) {
    const { podRef, containers } = fieldsOf(pod);
    const { name, namespace } = fieldsOf(podRef);
    if (typeof name !== 'string' || typeof namespace !== 'string') continue;
    const points = new Map<string, Point | undefined>();
    for (const container of listOf(containers)) {
      const fields = fieldsOf(container);
      if (typeof fields['name'] === 'string') points.set(fields['name'], pointOf(fields));
    }
    samples.set(podKey(namespace, name), points);
  }
  return { ...(point !== undefined && { node: point }), pods: samples };
}

/** A measurement without CPU time or memory is none: 0 stands for a value that was not measured. */
function pointOf(fields: Fields): Point | undefined {
  const cpu = fieldsOf(fields['cpu']);
  const memory = fieldsOf(fields['memory']);
  const time = timeOf(cpu['time']);
  const cpuNanoseconds = cpu['usageCoreNanoSeconds'];
  const memoryBytes = memory['workingSetBytes'];
  if (time === undefined || !isAmount(cpuNanoseconds) || !isAmount(memoryBytes)) return undefined;
  if (cpuNanoseconds === 0 || memoryBytes === 0) return undefined;
  const nanoCores = cpu['usageNanoCores'];
  return {
    time,
    cpuNanoseconds,
    memoryBytes,
    startedAt: timeOf(fields['startTime']) ?? 0,
    ...(isAmount(nanoCores) && { nanoCores }),
  };
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
