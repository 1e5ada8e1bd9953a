// `cox status`: what is wrong, then what runs.

import type { Connection } from '#client/connect.ts';
import {
  type Cause,
  clusterProblems,
  type ClusterState,
  observeCluster,
  type Problem,
  refText,
  servedResources,
} from '#client/explain/index.ts';
import { dataDirLayout, isDataDir } from '#cluster/data-dir/data-dir.ts';
import { localStatus, type LocalStatus } from '#cluster/data-dir/local-status.ts';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import { printable } from '#machinery/text/printable.ts';
import { typed } from '../own-command.ts';
import { coloursFor, shortest } from '../terminal.ts';
import { DEFAULT_DATA_DIR } from '../flags.ts';
import { type ConnectionFlags, withConnection } from './connection.ts';
import {
  briefProgress,
  bytes,
  type Colours,
  mark,
  type OutputFlags,
  table,
  writeJson,
} from './output.ts';

export interface StatusFlags extends ConnectionFlags, OutputFlags {
  readonly exitCode?: boolean;
}

/** Everything that is known; `cluster` is absent if the cluster does not answer. */
interface Status {
  readonly problems: readonly Problem[];
  readonly server?: string;
  readonly local?: LocalStatus;
  readonly cluster?: ClusterState;
}

/** Problems that text shows; JSON has all. */
const SHOWN = 50;

/** Sets the exit status to 1 with `exitCode` if something is wrong. */
export async function status(flags: StatusFlags): Promise<void> {
  const found = await readStatus(flags);
  if (flags.output === 'json') writeJson(jsonOf(found));
  else process.stdout.write(typed(statusText(found, coloursFor(process.stdout))));
  if (flags.exitCode === true && found.problems.some(({ severity }) => severity === 'problem'))
    process.exitCode = 1;
}

async function readStatus(flags: StatusFlags): Promise<Status> {
  const now = systemClock.now();
  const dataDir = localDirectory(flags);
  const local = dataDir === undefined ? undefined : await localStatus(dataDir, now);
  if (local?.state === 'none')
    throw new UserError(`no cluster has ever run on ${shortest(local.dataDir)}: see 'cox up'`);
  const own = (local?.problems ?? []).map(problemOf);
  if (local?.state === 'stopped') {
    const stopped = problemOf({
      severity: 'problem',
      text: `the cluster does not run: 'cox up --data-dir ${shortest(local.dataDir)}' starts it`,
      causes: [],
    });
    return { local, problems: [stopped, ...own] };
  }
  const chosen = dataDir === undefined ? flags : { dataDir };
  const progress = briefProgress(flags);
  try {
    return await withConnection(chosen, async ({ client, server }: Connection) => {
      progress.show('reading the cluster');
      const resources = await servedResources(client);
      const onPods = (read: number): void =>
        progress.show('reading the cluster', read > 500 ? `${read} pods` : undefined);
      const cluster = await observeCluster({ client, resources, now, onPods });
      progress.clear();
      const problems = [...own, ...clusterProblems(cluster)];
      return { problems, server, cluster, ...(local !== undefined && { local }) };
    });
  } catch (error) {
    if (local === undefined || !(error instanceof UserError)) throw error;
    // A process that runs and does not answer is what a status is for.
    const problem = problemOf({ severity: 'problem', text: errorMessage(error), causes: [] });
    return { local, problems: [problem, ...own] };
  } finally {
    progress.clear();
  }
}

/** The data directory that is meant: that of the flag, or the default one if there is one. */
function localDirectory({ dataDir, kubeconfig, context }: StatusFlags): string | undefined {
  if (dataDir !== undefined && kubeconfig !== undefined)
    throw new UserError('--kubeconfig and --data-dir exclude each other');
  if (dataDir !== undefined) return dataDir;
  if (kubeconfig !== undefined || context !== undefined) return undefined;
  return isDataDir(dataDirLayout(DEFAULT_DATA_DIR)) ? DEFAULT_DATA_DIR : undefined;
}

function problemOf({ severity, text, source }: Cause): Problem {
  return {
    severity: severity === 'waiting' ? 'waiting' : 'problem',
    text,
    count: 1,
    ...(source !== undefined && { source }),
  };
}

function jsonOf({ problems, server, local, cluster }: Status): unknown {
  const { dataDir, state, pid, startedAt, storeBytes, disk } = local ?? {};
  return {
    healthy: !problems.some(({ severity }) => severity === 'problem'),
    complete: isComplete({ problems, cluster }),
    problems,
    ...(local !== undefined && {
      local: {
        dataDir,
        state,
        pid,
        ...(startedAt !== undefined && { startedAt: new Date(startedAt).toISOString() }),
        storeBytes,
        disk,
      },
    }),
    ...(cluster !== undefined && {
      server,
      version: cluster.version,
      components: cluster.components,
      nodes: cluster.nodes,
      pods: cluster.pods,
      podsWithProblems: cluster.troubledPodCount,
      unread: Object.fromEntries(cluster.objects.unreadable),
    }),
  };
}

/** `now` is part of the cluster's state. */
export function statusText(found: Status, colours: Colours): string {
  const { problems, local, cluster, server } = found;
  const { bold, dim, green } = colours;
  const list = problems.slice(0, SHOWN).map((problem) => problemLine(problem, colours));
  const more = problems.length - list.length;
  const unlisted =
    cluster === undefined ? 0 : cluster.troubledPodCount - cluster.troubledPods.length;
  const head =
    problems.length === 0
      ? isComplete(found)
        ? `${green('✓')} nothing is wrong\n`
        : `${dim('·')} nothing wrong was found, but not everything could be read\n`
      : `${bold('what is wrong')}\n${list.join('')}` +
        (more > 0 ? `  and ${more} more (--output json has all)\n` : '') +
        (unlisted > 0 ? `  and ${unlisted} more pods\n` : '') +
        hint(problems);
  const rows = [
    ...(server === undefined ? [] : [['API server', server]]),
    ...(cluster === undefined ? [] : [['version', cluster.version]]),
    ...localRows(local, cluster?.now),
    ...clusterRows(cluster),
  ];
  return `${head}\n${table(rows)}`;
}

/** Reports whether all was read that problems are looked for in. */
const isComplete = ({ cluster }: Status): boolean =>
  cluster === undefined || cluster.objects.unreadable.size === 0;

/** How to learn more about the first object. */
function hint(problems: readonly Problem[]): string {
  const object = problems.find((problem) => problem.object !== undefined)?.object;
  if (object === undefined) return '';
  const namespace = object.namespace === undefined ? '' : ` -n ${object.namespace}`;
  return `  more about one: cox why ${printable(`${refText(object)}${namespace}`)}\n`;
}

function problemLine({ severity, object, text, count, source }: Problem, colours: Colours): string {
  const name =
    object === undefined
      ? ''
      : [
          refText(object),
          object.namespace ? ` (${object.namespace})` : '',
          count > 1 ? ` and ${count - 1} more` : '',
          ': ',
        ].join('');
  const from = source === undefined ? '' : colours.dim(`  [${printable(source)}]`);
  return `  ${mark(severity, colours)} ${printable(`${name}${text}`)}${from}\n`;
}

function localRows(local: LocalStatus | undefined, now: number | undefined): string[][] {
  if (local === undefined) return [];
  const { dataDir, pid, startedAt, storeBytes, disk } = local;
  const rows = [['data directory', shortest(dataDir)]];
  if (pid !== undefined && startedAt !== undefined) {
    const since = new Date(startedAt).toISOString();
    const age = now === undefined ? '' : ` (${humanDuration(now - startedAt)})`;
    rows.unshift(['process', `${pid}, since ${since}${age}`]);
  }
  if (storeBytes !== undefined) rows.push(['store', bytes(storeBytes)]);
  if (disk !== undefined)
    rows.push(['disk', `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} free`]);
  return rows;
}

function clusterRows(cluster: ClusterState | undefined): string[][] {
  if (cluster === undefined) return [];
  const { components, nodes, pods, objects } = cluster;
  const words = { true: 'ok', false: 'not healthy', undefined: 'not known' };
  const phases = Object.entries(pods)
    .toSorted(([, a], [, b]) => b - a)
    .map(([phase, count]) => `${count} ${phase}`);
  const unread = [...objects.unreadable].map(([kind, reason]) => `${kind}: ${reason}`);
  return [
    [
      'components',
      components.map(({ name, healthy }) => `${name} ${words[`${healthy}`]}`).join(', '),
    ],
    [
      'nodes',
      objects.unreadable.has('Node') ? 'not known' : `${nodes.ready} of ${nodes.total} ready`,
    ],
    ['pods', objects.unreadable.has('Pod') ? 'not known' : phases.join(', ') || 'none'],
    ...unread.map((text) => ['not read', text]),
  ];
}
