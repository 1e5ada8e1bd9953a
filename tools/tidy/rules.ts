// The rules of tidy: what a file must not contain, each with a suggestion. They read text, not
// syntax trees: that is quick, and easy to extend.

import { basename } from 'node:path';

export interface Violation {
  /** From 1. */
  readonly line: number;
  /** The violation, and the suggested change. */
  readonly message: string;
}

export interface Rule {
  readonly name: string;
  /** Reports whether the rule applies to the file at this path from the root of the repository. */
  applies(path: string): boolean;
  check(path: string, text: string): readonly Violation[];
}

const isCode = (path: string): boolean => /\.(tsx?|js|cjs)$/.test(path);
const isTest = (path: string): boolean =>
  /\.test\.tsx?$|\/testing\/|\/conformance\.ts$|\/test-pair\.ts$/.test(path);
const isGenerated = (path: string): boolean =>
  /^src\/api\/.*\/v[0-9][a-z0-9]*\/(types|index)\.ts$/.test(path) ||
  /^docs\/(api-report|conformance|conformance-others|api-coverage)\./.test(path);

/** Checks each line of a file with a function that returns the line's violation. */
function eachLine(text: string, check: (line: string) => string | undefined): Violation[] {
  const violations: Violation[] = [];
  text.split('\n').forEach((line, index) => {
    const message = check(line);
    if (message !== undefined) violations.push({ line: index + 1, message });
  });
  return violations;
}

/** Ambiguous words, each with the words to write instead. */
const WORDS: Readonly<Record<string, string>> = {
  whoever: 'name the caller, the client or the component',
  whom: 'name the thing, or write "which"',
  nobody: 'write "no client", "nothing", or the passive voice',
  somebody: 'name the user, the client or the component',
  told: 'write "notified", "published", "recorded" or "called with"',
};
const WORD = new RegExp(
  `\\b(${Object.keys(WORDS)
    .map((word) => `[${word[0]}${word[0]?.toUpperCase()}]${word.slice(1)}`)
    .join('|')})\\b`,
);

/** Lines in which a word is right: names of others, and texts of upstream. */
const WORDS_ALLOWED: readonly (readonly [path: string, text: string])[] = [
  ['', "'nobody'"],
  ['', 'nobody:'],
  ['', '(nobody'],
];

const words: Rule = {
  name: 'words',
  applies: (path) =>
    (isCode(path) || path.endsWith('.md')) && !isGenerated(path) && !path.startsWith('tools/tidy'),
  check: (path, text) =>
    eachLine(text, (line) => {
      const word = WORD.exec(line)?.[1];
      if (word === undefined) return undefined;
      if (WORDS_ALLOWED.some(([file, allowed]) => path.startsWith(file) && line.includes(allowed)))
        return undefined;
      return `"${word}": ${WORDS[word.toLowerCase()]}`;
    }),
};

/** The first word of a comment that does not name its subject. */
const OPENING = /^\s*(?:\/\*\*|\/\/)\s+(What|Of|Those|Who|Whom|Whoever|Whose)\b(?! is the\b)/;

const openings: Rule = {
  name: 'openings',
  applies: (path) => isCode(path) && !isGenerated(path),
  check: (_path, text) =>
    eachLine(text, (line) => {
      const word = OPENING.exec(line)?.[1];
      return word === undefined
        ? undefined
        : `a comment begins with "${word}": begin with a verb ("Returns …") or name the subject ("The nodes …")`;
    }),
};

const testNames: Rule = {
  name: 'test-names',
  applies: (path) => path.endsWith('.test.ts'),
  check: (_path, text) =>
    eachLine(text, (line) =>
      /^import \{.*\bit\b.*\} from 'vitest'/.test(line)
        ? 'tests are declared with `test`, inside of `describe`, too'
        : undefined,
    ),
};

const MAX_LINE = 120;

const lineLength: Rule = {
  name: 'line-length',
  applies: (path) => isCode(path) && !isGenerated(path),
  check: (_path, text) =>
    eachLine(text, (line) =>
      line.length > MAX_LINE
        ? `${line.length} characters: break the line at ${MAX_LINE}`
        : undefined,
    ),
};

/** Parts of modules that do not touch anything outside the process. */
const PURE_NAMES: ReadonlySet<string> = new Set([
  'isIP',
  'isIPv4',
  'isIPv6',
  'BlockList',
  'SocketAddress',
  'STATUS_CODES',
  'constants',
]);

/**
 * Modules that touch the system, and the paths below src/, or their beginnings, that may import
 * each.
 */
const IO: Readonly<Record<string, readonly string[]>> = {
  fs: [
    'cli/',
    'client/connect.ts',
    'client/credentials/',
    'client/kubeconfig.ts',
    'cluster/',
    'csi-driver/',
    'console/server/files/',
    'dns/system/',
    'kubelet/certificates/pair-store.ts',
    'kubelet/checkpoints/',
    'kubelet/devices/',
    'kubelet/dra/',
    'kubelet/garbage.ts',
    'kubelet/logs/',
    'kubelet/node/',
    'kubelet/parts/settings.ts',
    'kubelet/plugins/plugin-directory.ts',
    'kubelet/runtime/container-starter.ts',
    'kubelet/runtime/pod-sandboxes.ts',
    'kubelet/shutdown/logind.ts',
    'kubelet/static-pods/directory-source.ts',
    'kubelet/user-namespaces/mapping-files.ts',
    'kubelet/volumes/',
    'machinery/files/',
    'machinery/grpc/server.ts',
    'machinery/line-writer.ts',
    'machinery/net/bridge.ts',
    'machinery/serving/connection-table.ts',
    'machinery/worker-source.ts',
    'network/',
    'runtime/',
    'scheduler/extenders/post.ts',
    'storage/embedded/',
  ],
  net: [
    'apiserver/http/',
    'apiserver/webhooks/client/',
    'cluster/',
    'dns/system/',
    'kubelet/handlers/network.ts',
    'kubelet/server/',
    'machinery/net/',
    'machinery/serving/',
    'network/',
    'proxy/health/',
    'proxy/userspace/',
    'runtime/process/',
    'storage/embedded/snapshot-socket.ts',
  ],
  dgram: ['dns/system/', 'network/', 'proxy/userspace/'],
  child_process: [
    'cli/',
    'client/credentials/run-command.ts',
    'cluster/api-workers/',
    'cluster/machine/install.ts',
    'cluster/machine/reset.ts',
    'cluster/simulate/processes.ts',
    'csi-driver/copy-tree.ts',
    'kubelet/images/run-credential-plugin.ts',
    'kubelet/shutdown/logind.ts',
    'kubelet/volumes/mounter.ts',
    'machinery/execute.ts',
    'machinery/net/nft/',
    'network/',
    'runtime/',
  ],
  http: [
    'apiserver/aggregator/proxy/',
    'apiserver/http/',
    'apiserver/node-proxy/',
    'apiserver/webhooks/client/',
    'cli/envtest/',
    'client/http/',
    'cluster/',
    'dns/system/',
    'ingress/',
    'kubelet/handlers/network.ts',
    'kubelet/server/',
    'machinery/net/',
    'machinery/serving/',
    'machinery/streams/remotecommand/',
    'proxy/health/',
    'runtime/cri-server/',
    'scheduler/extenders/post.ts',
  ],
  https: [
    'client/http/',
    'cluster/',
    'ingress/',
    'kubelet/handlers/network.ts',
    'machinery/streams/remotecommand/',
    'scheduler/extenders/post.ts',
  ],
  http2: ['apiserver/http/', 'client/http/', 'cluster/api-workers/', 'ingress/', 'storage/etcd/'],
  tls: [
    'apiserver/aggregator/proxy/',
    'apiserver/http/',
    'apiserver/webhooks/client/',
    'client/http/',
    'cluster/',
    'ingress/',
    'kubelet/server/',
    'machinery/net/',
    'machinery/serving/',
  ],
  dns: ['apiserver/webhooks/client/', 'kubelet/handlers/network.ts', 'machinery/net/'],
  worker_threads: [
    'apiserver/endpoints/',
    'client/thread/',
    'cluster/thread/',
    'machinery/streams/port-duplex.ts',
    'storage/embedded/',
  ],
};

/** An import of a module of Node, on one line or several. */
const IMPORT = /^import (?!type\b)([^;'"]*?) from 'node:(\w+)(?:\/promises)?'/gm;

/** Reports whether an import brings anything that touches the system. */
function importsIo(clause: string): boolean {
  if (!clause.startsWith('{')) return true;
  const names = clause
    .replace(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim());
  return names.some((name) => name !== '' && !name.startsWith('type ') && !PURE_NAMES.has(name));
}

const io: Rule = {
  name: 'io',
  applies: (path) => path.startsWith('src/') && /\.tsx?$/.test(path) && !isTest(path),
  check: (path, text) => {
    const violations: Violation[] = [];
    for (const { 1: clause = '', 2: module = '', index } of text.matchAll(IMPORT)) {
      const allowed = IO[module];
      if (
        allowed === undefined ||
        !importsIo(clause.replace(/\s+/g, ' ')) ||
        allowed.some((place) => path.startsWith(`src/${place}`))
      )
        continue;
      const places = allowed.join(', ');
      violations.push({
        line: text.slice(0, index).split('\n').length,
        message: `node:${module} is used in ${places} only: declare an interface here, and implement it there`,
      });
    }
    return violations;
  },
};

const TAKE_CLOCK = 'take a Clock from the Config';

/**
 * Time, randomness and connections that need no import, each with the way out and the files that
 * may use it.
 */
const AMBIENT: readonly {
  readonly pattern: RegExp;
  readonly instead: string;
  readonly allowed: readonly string[];
}[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.(now|timeOrigin|nodeTiming)\b/,
    instead: TAKE_CLOCK,
    allowed: [
      'machinery/clock/system-clock.ts',
      'machinery/clock/virtual-clock.ts',
      'console/ui/browser/clock.ts',
    ],
  },
  {
    pattern: /(?<![.#\w])set(Timeout|Interval)\(|\bnode:timers\b|\bprocess\.hrtime\b/,
    instead: TAKE_CLOCK,
    allowed: [
      'machinery/clock/interface.ts',
      'machinery/clock/system-clock.ts',
      'machinery/clock/virtual-clock.ts',
      'console/ui/browser/clock.ts',
    ],
  },
  {
    pattern: /\bAbortSignal\.timeout\(|\bAtomics\.wait\(/,
    instead: TAKE_CLOCK,
    // The first blocks at the end of the process, the second waits for another thread without a timeout.
    allowed: ['machinery/line-writer.ts', 'storage/embedded/load-window.ts'],
  },
  {
    pattern: /(?<![.#\w])setImmediate\(/,
    instead:
      'a virtual clock waits for nextTurn (machinery/turn.ts) and inNextTurn (pending-work.ts)',
    allowed: ['machinery/clock/virtual-clock.ts', 'machinery/pending-work.ts'],
  },
  {
    pattern: /\bMath\.random\(|\brandom(UUID|Bytes|Int|FillSync|Fill)\(|\bgetRandomValues\(/,
    instead: 'take a Random from the Config',
    allowed: ['machinery/random.ts'],
  },
  {
    pattern: /(?<![.#\w])fetch\(|\bnode:(sqlite|inspector|cluster|quic)\b/,
    instead: 'take a Client, or an interface of your own, from the Config',
    allowed: [
      'cluster/nodes/memory-at-rest.ts',
      'console/ui/browser/fetch.ts',
      'kubelet/static-pods/http.ts',
      'storage/embedded/',
    ],
  },
];

/** A virtual clock and a seed are in command of everything only if nothing goes around them. */
const ambient: Rule = {
  name: 'ambient',
  applies: (path) => path.startsWith('src/') && /\.tsx?$/.test(path) && !isTest(path),
  check: (path, text) =>
    eachLine(text, (line) => {
      if (/^\s*(\/\/|\*|\/\*)/.test(line)) return undefined;
      const found = AMBIENT.find(
        ({ pattern, allowed }) =>
          pattern.test(line) && !allowed.some((place) => path.startsWith(`src/${place}`)),
      );
      return found === undefined
        ? undefined
        : `"${found.pattern.exec(line)?.[0]}": ${found.instead}`;
    }),
};

/** A folder README fits on one screen. */
const MAX_README_LINES = 60;
const MAX_README_WORDS = 700;

const readmes: Rule = {
  name: 'readme-size',
  applies: (path) => path.startsWith('src/') && basename(path) === 'README.md',
  check: (_path, text) => {
    const lines = text.trimEnd().split('\n').length;
    const count = text.split(/\s+/).length;
    return lines > MAX_README_LINES || count > MAX_README_WORDS
      ? [
          {
            line: 1,
            message:
              `${lines} lines, ${count} words: at most ${MAX_README_LINES} and ` +
              `${MAX_README_WORDS}; move the rest to docs/`,
          },
        ]
      : [];
  },
};

const FROM = /^import (type )?\{[^}]*\} from '([^']+)';$/gm;

/** Named imports of a module are in one statement: `import { a, type B } from …`. */
const singleImport: Rule = {
  name: 'single-import',
  applies: (path) => /\.tsx?$/.test(path),
  check(_path, text) {
    const seen = new Set<string>();
    const violations: Violation[] = [];
    for (const { 2: module = '', index } of text.matchAll(FROM)) {
      if (seen.has(module)) {
        const line = text.slice(0, index).split('\n').length;
        const message = `another import of ${module}: write one, "import { a, type B } from …"`;
        violations.push({ line, message });
      }
      seen.add(module);
    }
    return violations;
  },
};

const OPTIONAL_UNDEFINED = /^\s*(?:readonly )?[\w$'-]+\?: [^=(]*\| undefined[;,]?$/;

/** An optional member may be undefined anyway, as exactOptionalPropertyTypes is off. */
const optionalMembers: Rule = {
  name: 'optional-members',
  applies: (path) => /\.tsx?$/.test(path),
  check: (_path, text) =>
    eachLine(text, (line) =>
      OPTIONAL_UNDEFINED.test(line) ? 'an optional member: leave out "| undefined"' : undefined,
    ),
};

/** Rules about one file each. */
export const rules: readonly Rule[] = [
  words,
  openings,
  testNames,
  lineLength,
  singleImport,
  optionalMembers,
  io,
  ambient,
  readmes,
];

const EXPORT = /^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm;

const NAMESPACE = /(?:import|export) \* as \w+ from '(?:[^']*\/)?([^'/]+)'/g;

/**
 * Returns exported values that no other file names, by file. A name that occurs anywhere in another
 * file counts as used.
 */
export function deadExports(
  files: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly Violation[]> {
  const filesOf = new Map<string, number>();
  for (const [path, text] of files) {
    if (!isCode(path)) continue;
    for (const word of new Set(text.match(/\b[A-Za-z_]\w*\b/g)))
      filesOf.set(word, (filesOf.get(word) ?? 0) + 1);
  }
  // Files that others import as a whole.
  const namespaces = new Set(
    [...files.values()].flatMap((text) => [...text.matchAll(NAMESPACE)].map((match) => match[1])),
  );
  const dead = new Map<string, Violation[]>();
  for (const [path, text] of files) {
    if (
      namespaces.has(basename(path)) ||
      !/^(src|tools|test|bench)\/.*\.tsx?$/.test(path) ||
      isGenerated(path)
    )
      continue;
    for (const match of text.matchAll(EXPORT)) {
      const name = match[1]!;
      // Called by vitest, by name.
      if (name === 'setup' || name === 'teardown') continue;
      if ((filesOf.get(name) ?? 0) > 1) continue;
      const line = text.slice(0, match.index).split('\n').length;
      const message = `no other file uses ${name}: remove it, or the word "export"`;
      dead.set(path, [...(dead.get(path) ?? []), { line, message }]);
    }
  }
  return dead;
}
