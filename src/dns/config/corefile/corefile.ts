// A Corefile, the configuration of CoreDNS, as far as this server knows its directives. All others
// are refused: a server that leaves one out would answer otherwise than its author thinks.

import { isIP } from 'node:net';
import type { Labels } from '../../wire/names.ts';
import type { DnsFiles } from '../../system/sockets.ts';
import type { CacheSettings, DnsConfiguration, ServerBlock, Source } from '../../configuration.ts';
import {
  argumentsOf,
  durationOf,
  type ListenAt,
  listenAt,
  noArguments,
  noLines,
  onlyArgument,
  unknownProperty,
} from './arguments.ts';
import { type Block, type Directive, readBlocks, type ReadOptions } from './blocks.ts';
import { parseCache } from './cache.ts';
import { parseForward } from './forward.ts';
import { type HostsDirective, parseHostsDirective } from './hosts.ts';
import { type KubeconfigChoice, parseKubernetes } from './kubernetes.ts';
import { CorefileError, type Token } from './tokens.ts';
import { parseServerKey } from './zones.ts';

export interface Corefile {
  readonly configuration: DnsConfiguration;
  readonly serving: CorefileServing;
  /** Absent: a change of the file is not noticed. */
  readonly reload?: { readonly intervalMs: number; readonly jitterMs: number };
  /** The files of hosts, and the time between two looks at them; 0: they are read once. */
  readonly hosts: readonly { readonly file: string; readonly reloadMs: number }[];
}

/** The part of a Corefile that needs a restart when it changes. */
export interface CorefileServing {
  /** The addresses of `bind`. Absent: all of the machine. */
  readonly bind?: readonly string[];
  readonly port: number;
  readonly prometheus?: ListenAt;
  readonly health?: ListenAt & { readonly lameduckMs: number };
  readonly ready?: ListenAt;
  /** Absent: the server runs in a pod, or has no cluster. */
  readonly kubeconfig?: KubeconfigChoice;
  /** Whether a block has `kubernetes`. */
  readonly hasCluster: boolean;
}

export interface LoadOptions extends Omit<ReadOptions, 'files'> {
  readonly files: DnsFiles;
  /** Called with each file of hosts; undefined: there is none. */
  readonly onHosts: (file: string, text: string | undefined) => void;
  /** Called with each line of a hosts file that cannot be used. */
  readonly onHostsProblem: (file: string, line: number, problem: string) => void;
}

const DEFAULT_PORT = 53;
const RELOAD = { intervalMs: 30_000, jitterMs: 15_000 };
const MIN_RELOAD_MS = 2000;
const MIN_RELOAD_JITTER_MS = 1000;
const HEALTH: ListenAt = { host: '', port: 8080 };
const READY: ListenAt = { host: '', port: 8181 };
const PROMETHEUS: ListenAt = { host: '127.0.0.1', port: 9153 };

/** The directives of one block. */
interface Parsed {
  hosts?: HostsDirective;
  kubernetes?: ReturnType<typeof parseKubernetes>;
  cache?: CacheSettings;
  readonly forwards: Awaited<ReturnType<typeof parseForward>>[];
  bind?: readonly string[];
  prometheus?: ListenAt;
  health?: NonNullable<CorefileServing['health']>;
  ready?: ListenAt;
  reload?: NonNullable<Corefile['reload']>;
  rotates: boolean;
  logsQueries: boolean;
  logsFailures: boolean;
}

interface Context {
  readonly zones: readonly Labels[];
  readonly options: LoadOptions;
}

type Parse = (parsed: Parsed, directive: Directive, context: Context) => void | Promise<void>;

const DIRECTIVES: Readonly<Record<string, Parse>> = {
  bind: (parsed, directive) => {
    noLines(directive);
    parsed.bind = argumentsOf(directive, 1, Infinity, 'addresses are').map(addressOf);
  },
  cache: (parsed, directive, { zones }) => {
    parsed.cache = parseCache(directive, zones);
  },
  errors: (parsed, directive) => {
    noArguments(directive);
    noLines(directive);
    parsed.logsFailures = true;
  },
  forward: async (parsed, directive, { options }) => {
    parsed.forwards.push(await parseForward(directive, options.files));
  },
  health: (parsed, directive) => {
    parsed.health = { ...listenOf(directive, HEALTH), lameduckMs: lameduckOf(directive) };
  },
  hosts: (parsed, directive, { zones, options }) => {
    parsed.hosts = parseHostsDirective(directive, zones, options.onHostsProblem);
  },
  kubernetes: (parsed, directive, { zones }) => {
    parsed.kubernetes = parseKubernetes(directive, zones);
  },
  loadbalance: (parsed, directive) => {
    noLines(directive);
    const [policy] = argumentsOf(directive, 0, 1, 'at most one policy is');
    if (policy !== undefined && policy.text !== 'round_robin')
      throw new CorefileError(policy, `loadbalance ${policy.text} is not supported`);
    parsed.rotates = true;
  },
  log: (parsed, directive) => {
    noArguments(directive);
    noLines(directive);
    parsed.logsQueries = true;
  },
  // A name server that leads back here is looked for in any case.
  loop: (_parsed, directive) => {
    noArguments(directive);
    noLines(directive);
  },
  prometheus: (parsed, directive) => {
    noLines(directive);
    parsed.prometheus = listenOf(directive, PROMETHEUS);
  },
  ready: (parsed, directive) => {
    noLines(directive);
    parsed.ready = listenOf(directive, READY);
  },
  reload: (parsed, directive) => {
    noLines(directive);
    parsed.reload = reloadOf(directive);
  },
};

/**
 * Reads a Corefile with all files that it names. Rejects with CorefileError, or with the error of a
 * file that cannot be read.
 */
export async function loadCorefile(path: string, options: LoadOptions): Promise<Corefile> {
  const blocks = await readBlocks(path, options);
  const parts: Part[] = [];
  for (const block of blocks) parts.push(...(await partsOf(block, options)));
  checkZones(parts);
  const [first] = parts;
  if (first === undefined)
    throw new CorefileError({ file: path, line: 1 }, 'there is no server block');
  const reload = parts.find(({ parsed }) => parsed.reload !== undefined)?.parsed.reload;
  const hosts = new Set(parts.flatMap(({ parsed }) => parsed.hosts ?? []));
  return {
    configuration: {
      blocks: parts.map(({ block }) => block).toSorted((a, b) => b.zone.length - a.zone.length),
    },
    serving: servingOf(parts),
    ...(reload !== undefined && { reload }),
    hosts: [...hosts].map(({ file, reloadMs }) => ({ file, reloadMs })),
  };
}

/** One zone of a server block. */
interface Part {
  readonly key: Token;
  readonly port: number;
  readonly parsed: Parsed;
  readonly block: ServerBlock;
}

async function partsOf(block: Block, options: LoadOptions): Promise<readonly Part[]> {
  const keys = block.keys.map((key) => ({ key, ...parseServerKey(key) }));
  const zones = keys.map(({ zone }) => zone);
  const parsed: Parsed = { forwards: [], rotates: false, logsQueries: false, logsFailures: false };
  const seen = new Set<string>();
  for (const directive of block.directives) {
    const { name } = directive;
    const parse = Object.hasOwn(DIRECTIVES, name.text) ? DIRECTIVES[name.text] : undefined;
    if (parse === undefined) {
      const known = Object.keys(DIRECTIVES).join(', ');
      throw new CorefileError(
        name,
        `the directive ${JSON.stringify(name.text)} is not supported (supported: ${known}, import)`,
      );
    }
    if (seen.has(name.text) && name.text !== 'forward')
      throw new CorefileError(name, `${name.text} is there twice in a server block`);
    seen.add(name.text);
    await parse(parsed, directive, { zones, options });
  }
  const sources = await sourcesOf(parsed, options);
  const { rotates, logsQueries, cache } = parsed;
  return keys.map(({ key, zone, port }) => ({
    key,
    port: port ?? DEFAULT_PORT,
    parsed,
    block: { zone, sources, rotates, logsQueries, ...(cache !== undefined && { cache }) },
  }));
}

/** Returns the sources in the order of CoreDNS, which is not that of the file. */
async function sourcesOf(
  { hosts, kubernetes, forwards, cache, logsFailures }: Parsed,
  { files, onHosts }: LoadOptions,
): Promise<readonly Source[]> {
  const text = hosts === undefined ? undefined : await files.read(hosts.file);
  if (hosts !== undefined) onHosts(hosts.file, text);
  return [
    ...(hosts === undefined ? [] : [hosts.source(text)]),
    ...(kubernetes === undefined ? [] : [kubernetes.source]),
    ...forwards.map((forward) => ({
      ...forward,
      logsFailures,
      ...(cache !== undefined && { cache }),
    })),
  ];
}

function checkZones(parts: readonly Part[]): void {
  const zones = new Set<string>();
  const [first] = parts;
  for (const { key, port, parsed, block } of parts) {
    const zone = block.zone.join('.');
    if (zones.has(zone)) throw new CorefileError(key, `the zone ${key.text} is there twice`);
    zones.add(zone);
    if (port !== first?.port)
      throw new CorefileError(key, `all server blocks must have one port: ${first?.port}`);
    if (String(parsed.bind) !== String(first.parsed.bind))
      throw new CorefileError(key, 'all server blocks must have the same addresses (bind)');
  }
}

/** A directive of a server, rather than a zone, may be in any block, but not with two meanings. */
function servingOf(parts: readonly Part[]): CorefileServing {
  const only = <K extends 'prometheus' | 'health' | 'ready'>(name: K): Parsed[K] => {
    const given = parts.filter(({ parsed }) => parsed[name] !== undefined);
    const [first] = given;
    const other = given.find(
      ({ parsed }) => JSON.stringify(parsed[name]) !== JSON.stringify(first?.parsed[name]),
    );
    if (other !== undefined)
      throw new CorefileError(other.key, `${name} is not the same in all server blocks`);
    return first?.parsed[name];
  };
  const [prometheus, health, ready] = [only('prometheus'), only('health'), only('ready')];
  const bind = parts[0]?.parsed.bind;
  const clusters = parts.flatMap(({ key, parsed }) =>
    parsed.kubernetes === undefined ? [] : [{ key, ...parsed.kubernetes }],
  );
  const kubeconfig = clusters[0]?.kubeconfig;
  for (const cluster of clusters)
    if (JSON.stringify(cluster.kubeconfig) !== JSON.stringify(kubeconfig))
      throw new CorefileError(cluster.key, 'kubernetes: all must have one kubeconfig');
  return {
    ...(bind !== undefined && { bind }),
    port: parts[0]?.port ?? DEFAULT_PORT,
    ...(prometheus !== undefined && { prometheus }),
    ...(health !== undefined && { health }),
    ...(ready !== undefined && { ready }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    hasCluster: clusters.length > 0,
  };
}

function addressOf(token: Token): string {
  if (isIP(token.text) === 0)
    throw new CorefileError(
      token,
      `bind: ${token.text} is no address (interfaces are not supported)`,
    );
  return token.text;
}

function listenOf(directive: Directive, otherwise: ListenAt): ListenAt {
  const [at] = argumentsOf(directive, 0, 1, 'at most one address is');
  return at === undefined ? otherwise : listenAt(at);
}

function lameduckOf(directive: Directive): number {
  let lameduckMs = 0;
  for (const line of directive.lines) {
    if (line.name.text !== 'lameduck') unknownProperty(directive, line, 'lameduck');
    lameduckMs = durationOf(onlyArgument(line, 'a duration is'), 0);
  }
  return lameduckMs;
}

function reloadOf(directive: Directive): NonNullable<Corefile['reload']> {
  const [interval, jitter] = argumentsOf(directive, 0, 2, '[INTERVAL] [JITTER] is');
  const intervalMs =
    interval === undefined ? RELOAD.intervalMs : durationOf(interval, MIN_RELOAD_MS);
  const jitterMs =
    jitter === undefined ? RELOAD.jitterMs : durationOf(jitter, MIN_RELOAD_JITTER_MS);
  return { intervalMs, jitterMs: Math.min(jitterMs, intervalMs / 2) };
}
