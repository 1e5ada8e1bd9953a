// Lines of the log of a cluster in the background: which of them a user wants. Both formats of machinery/log.ts, and
// the lines of containerd.

/** The parts of a line that filters look at. */
export interface LogLine {
  /** Wall-clock milliseconds. Undefined: the line has no date. */
  readonly time?: number;
  /** 'cox' for lines of the process itself. */
  readonly component: string;
}

/** '2026-03-01T12:00:00.000Z WARN  kubelet: message key=value'; the date may be missing. */
const TEXT = /^(?:(\d{4}-\d\d-\d\dT[\d:.]+Z)|\d\d:\d\d:\d\d\.\d{3}) [A-Z]+ +(?:([a-z][a-z-]*): )?/;
/** 'time="2026-03-01T12:00:00.000000000Z" level=info …'. */
const CONTAINERD = /^time="([^"]+)" level=/;
const OWN = 'cox';

/** Other names for components: those of upstream's programs, and of their parts. */
const ALIASES: Readonly<Record<string, string>> = {
  'kube-apiserver': 'apiserver',
  'api-server': 'apiserver',
  'kube-controller-manager': 'controller-manager',
  controllers: 'controller-manager',
  'kube-scheduler': 'scheduler',
  proxy: 'kube-proxy',
  coredns: 'dns',
  etcd: 'storage',
  store: 'storage',
};

/** The components that a cluster may have. */
export const COMPONENTS = [
  OWN,
  'apiserver',
  'storage',
  'controller-manager',
  'scheduler',
  'kubelet',
  'runtime',
  'containerd',
  'kube-proxy',
  'pod-network',
  'network-policy',
  'announcer',
  'dns',
  'ingress',
] as const;

/** Returns the component that a user means; undefined if there is none of the name. */
export function componentNamed(typed: string): string | undefined {
  const name = ALIASES[typed] ?? typed;
  return COMPONENTS.find((component) => component === name);
}

/** Returns what a line says of itself. Undefined for a line that belongs to the one before, such as one of a stack. */
export function parseLine(text: string): LogLine | undefined {
  if (text.startsWith('{')) return parseJson(text);
  const found = TEXT.exec(text);
  if (found !== null) {
    const [, date, component = OWN] = found;
    return { component, ...timeOf(date) };
  }
  const [, time] = CONTAINERD.exec(text) ?? [];
  return time === undefined ? undefined : { component: 'containerd', ...timeOf(time) };
}

function parseJson(text: string): LogLine | undefined {
  try {
    const { component, time } = JSON.parse(text) as { component?: unknown; time?: unknown };
    return {
      component: typeof component === 'string' ? component : OWN,
      ...timeOf(typeof time === 'string' ? time : undefined),
    };
  } catch {
    // A line of text that begins with a brace, or one that is not written to its end.
    return undefined;
  }
}

function timeOf(text: string | undefined): { readonly time?: number } {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? {} : { time };
}

/** A line as a value. */
export interface DescribedLine {
  /** RFC 3339. Absent: the line, and the one that it belongs to, has no date. */
  readonly time?: string;
  readonly component: string;
  readonly line: string;
}

/** Describes lines in their order: a line that belongs to the one before has its component and time. */
export class LogLines {
  #last: LogLine = { component: OWN };

  describe(line: string): DescribedLine {
    const parsed = parseLine(line);
    if (parsed !== undefined) this.#last = parsed;
    const { time, component } = this.#last;
    return {
      ...(time !== undefined && { time: new Date(time).toISOString() }),
      component,
      line,
    };
  }
}

export interface LogFilterConfig {
  /** Only lines of this component. */
  readonly component?: string;
  /** Only lines from this time on, wall-clock milliseconds. Lines without a date are older. */
  readonly since?: number;
}

/** Decides line by line. A line that belongs to the one before has its fate. */
export class LogFilter {
  readonly #config: LogFilterConfig;
  #accepted = false;

  constructor(config: LogFilterConfig) {
    this.#config = config;
  }

  accepts(text: string): boolean {
    const { component, since } = this.#config;
    const line = parseLine(text);
    // Lines that the process writes without a logger, such as the ready line, are its own.
    if (line === undefined && text !== '' && !/^\s/.test(text) && component === OWN) return true;
    if (line !== undefined)
      this.#accepted =
        (component === undefined || line.component === component) &&
        (since === undefined || (line.time !== undefined && line.time >= since));
    else if (component === undefined && since === undefined) return true;
    return this.#accepted;
  }
}
