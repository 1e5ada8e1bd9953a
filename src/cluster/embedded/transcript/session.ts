// Runs the commands of one transcript, in order, against one cluster on a virtual clock. Everything
// goes through the API, as with the administrator's kubectl, except the commands that act on the
// cluster's machines.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { parseYamlDocuments } from '#api/machinery/codec/index.ts';
import type { ResourceClient } from '#client/client.ts';
import { resourcePath } from '#client/request.ts';
import type { TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import type { EmbeddedCluster } from '../embedded-cluster.ts';
import { startCluster } from '../start-cluster.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { type AnyResource, displayName, Kinds } from './kinds.ts';
import { formatValue, valuesAt } from './paths.ts';
import { MetricsSource } from './metrics-source.ts';
import { formatRows, selectColumns, type Table } from './table.ts';
import { WriteCounter } from './write-counter.ts';
import { TableWatch } from './table-watch.ts';

const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const DEFAULT_NAMESPACE = 'default';
const CASCADES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

/**
 * Commands that change nothing take no time. The answers of all others include their immediate
 * effects.
 */
const READS: ReadonlySet<string> = new Set([
  'cluster',
  'advance',
  'watch',
  'get',
  'show',
  'events',
  'logs',
]);
const AT_ONCE_MS = 100;

type Command = (args: Arguments, input: string) => Promise<string>;

export class Session {
  #cluster: EmbeddedCluster<VirtualClock> | undefined;
  /** The cluster was started by a command of the transcript. */
  #own = false;
  readonly #kinds = new Kinds();
  #metrics: MetricsSource | undefined;
  readonly #watches: TableWatch[] = [];

  /** Without a cluster, the transcript begins with the command `cluster`. */
  constructor(cluster?: EmbeddedCluster<VirtualClock>) {
    this.#cluster = cluster;
  }

  /**
   * Returns the answer to a command. A request that the API rejects is an answer, too. Throws Error
   * for a mistake of the transcript.
   */
  async run(line: string, input: string): Promise<string> {
    const args = parseArguments(line);
    const command = this.#commands[args.name];
    if (command === undefined) throw new Error(`there is no command ${args.name}`);
    if (this.#cluster !== undefined) await this.#kinds.load(this.#cluster.client);
    try {
      const output = await command(args, input);
      args.finish();
      if (!READS.has(args.name)) await this.#cluster?.clock.advance(AT_ONCE_MS);
      return [output, ...this.#watches.map((watch) => watch.take())]
        .filter((text) => text !== '')
        .join('\n');
    } catch (error) {
      if (!(error instanceof apierrors.StatusError)) throw error;
      return `Error from server (${error.reason}): ${error.message}`;
    }
  }

  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    await this.#metrics?.stop();
    if (this.#own) await this.#cluster?.stop();
  }

  readonly #commands: Readonly<Record<string, Command>> = {
    /**
     * cluster nodes=3 seed=x cpu=4 memory=32Gi pods=110 start=2026-03-26T00:00:00Z listening=true
     * metrics=true
     */
    cluster: async (args) => {
      const capacity = Object.fromEntries(
        ['cpu', 'memory', 'pods'].flatMap((name) => {
          const amount = args.option(name);
          return amount === undefined ? [] : [[name, amount]];
        }),
      );
      if (this.#cluster !== undefined) throw new Error('cluster: there is one already');
      const start = args.option('start');
      const withMetrics = args.flag('metrics');
      this.#own = true;
      this.#cluster = await startCluster({
        clock: 'virtual',
        ...(start !== undefined && { startMs: Date.parse(start) }),
        nodes: Number(args.option('nodes') ?? 1),
        seed: args.option('seed') ?? 'scenario',
        ...(args.flag('listening') && { port: 0 }),
        ...(withMetrics && { controllers: ['*', '-horizontal-pod-autoscaler-controller'] }),
        nodeCapacity: { cpu: '4', memory: '32Gi', pods: '110', ...capacity },
      });
      if (withMetrics) this.#metrics = new MetricsSource(this.#cluster);
      return '';
    },

    /** advance 10s [counting] */
    advance: async (args) => {
      const duration = args.word(0);
      const counter =
        args.words[1] === 'counting' ? await WriteCounter.start(this.#up.client) : undefined;
      if (counter !== undefined) args.word(1);
      await this.#up.clock.advance(duration);
      return counter === undefined ? '' : await counter.stop();
    },

    /**
     * watch pods [-n NAMESPACE] [-l SELECTOR] [columns=…]: every later answer ends with the
     * changes.
     */
    watch: async (args) => {
      const request = this.#listRequest(args);
      const list = await this.#table(request);
      // Without a timeout, the server ends the watch after half an hour or more.
      const query = {
        ...request.query,
        resourceVersion: list.metadata.resourceVersion,
        timeoutSeconds: 10_000_000,
      };
      const events = await this.#up.client.transport.watch<Table>({
        ...request,
        query,
        accept: AS_TABLE,
      });
      this.#watches.push(
        new TableWatch({
          events,
          clock: this.#up.clock,
          columns: args.option('columns')?.split(','),
        }),
      );
      return '';
    },

    /**
     * get pods [NAME] [-n NAMESPACE | -A] [-l SELECTOR] [-o wide] [columns=Name,Status]
     * [paths=.spec.x,.status.y]
     */
    get: async (args) => {
      const request = this.#listRequest(args);
      const paths = args.option('paths')?.split(',');
      const table = await this.#table({
        ...request,
        query: { ...request.query, includeObject: paths === undefined ? undefined : 'Object' },
      });
      const all = args.flag('-A');
      const options = {
        wide: args.option('-o') === 'wide',
        columns: args.option('columns')?.split(','),
      };
      if (table.rows.length === 0) {
        const namespace = args.option('-n') ?? DEFAULT_NAMESPACE;
        return this.#kinds.resourceNamed(args.word(0)).namespaced && !all
          ? `No resources found in ${namespace} namespace.`
          : 'No resources found';
      }
      if (paths !== undefined) {
        const rows = table.rows.map(({ object }) => [
          object.metadata.name,
          ...paths.map((path) => valuesAt(object, path).map(formatValue).join(',') || '<none>'),
        ]);
        return formatRows([['NAME', ...paths], ...rows]);
      }
      const { names, indexes } = selectColumns(table, options);
      const rows = table.rows.map(({ cells, object }) => [
        ...(all ? [object.metadata.namespace] : []),
        ...indexes.map((index) => cells[index]),
      ]);
      return formatRows([[...(all ? ['NAMESPACE'] : []), ...names], ...rows]);
    },

    /** show rs/web .status: the value as JSON, with the elements of a list on a line each. */
    show: async (args) => {
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      const object = await this.#resource(type, args).get(name);
      return valuesAt(object, args.word(1))
        .flatMap((value) => (Array.isArray(value) ? value : [value]))
        .map(formatValue)
        .join('\n');
    },

    /** events [-n NAMESPACE] [for=pod/web] [columns=…]: the oldest first. */
    events: async (args) => {
      const regarding = args.option('for');
      const [kind, name] = regarding?.split('/') ?? [];
      const path = resourcePath(
        this.#kinds.resourceNamed('events'),
        args.option('-n') ?? DEFAULT_NAMESPACE,
      );
      const fieldSelector =
        kind === undefined
          ? undefined
          : `involvedObject.kind=${this.#kinds.resourceNamed(kind).kind},involvedObject.name=${name ?? ''}`;
      const table = await this.#table({
        method: 'GET',
        path,
        query: { fieldSelector, includeObject: 'Object' },
      });
      const columns = args.option('columns')?.split(',') ?? [
        'Last Seen',
        'Count',
        'Type',
        'Reason',
        'Object',
        'Message',
      ];
      const { names, indexes } = selectColumns(table, { columns });
      const rows = table.rows.toSorted((a, b) => compareEvents(a.object, b.object));
      if (rows.length === 0) return 'No events found.';
      return formatRows([names, ...rows.map(({ cells }) => indexes.map((index) => cells[index]))]);
    },

    /** logs pod/web [container=c] [previous=true] */
    logs: async (args) => {
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      const path = resourcePath(type, args.option('-n') ?? DEFAULT_NAMESPACE, name, 'log');
      const query = { container: args.option('container'), previous: args.option('previous') };
      return (await this.#up.client.transport.text({ method: 'GET', path, query })).trimEnd();
    },

    /** apply, with YAML */
    apply: async (_args, input) => {
      const outcomes: string[] = [];
      for (const manifest of parseYamlDocuments(input) as KubeObject[]) {
        const type = this.#kinds.resourceNamed(manifest.kind ?? '');
        const namespace = type.namespaced
          ? (manifest.metadata.namespace ?? DEFAULT_NAMESPACE)
          : undefined;
        const before = await apierrors.unlessMissing(
          this.#resourceIn(type, namespace).get(manifest.metadata.name),
        );
        const [after] = await this.#up.apply(manifest);
        const unchanged = after?.metadata.resourceVersion === before?.metadata.resourceVersion;
        const outcome = before === undefined ? 'created' : unchanged ? 'unchanged' : 'configured';
        outcomes.push(`${displayName(type, manifest.metadata.name)} ${outcome}`);
      }
      return outcomes.join('\n');
    },

    /** create, with YAML: fails if the object exists; accepts generateName. */
    create: async (_args, input) => {
      const names: string[] = [];
      for (const manifest of parseYamlDocuments(input) as KubeObject[]) {
        const type = this.#kinds.resourceNamed(manifest.kind ?? '');
        const namespace = type.namespaced
          ? (manifest.metadata.namespace ?? DEFAULT_NAMESPACE)
          : undefined;
        const created = await this.#resourceIn(type, namespace).create(manifest);
        names.push(`${displayName(type, created.metadata.name)} created`);
      }
      return names.join('\n');
    },

    /** patch rs/web [-n NAMESPACE], with YAML: a merge patch. */
    patch: async (args, input) => {
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      const [patch] = parseYamlDocuments(input);
      await this.#resource(type, args).patch(name, 'application/merge-patch+json', patch);
      return `${displayName(type, name)} patched`;
    },

    /** label pod/web app=other tier- */
    label: async (args) => {
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      const labels = Object.fromEntries(
        args
          .rest()
          .map((pair) => (pair.endsWith('-') ? [pair.slice(0, -1), null] : pair.split('='))),
      ) as Record<string, string | null>;
      await this.#resourceIn(type, type.namespaced ? DEFAULT_NAMESPACE : undefined).patch(
        name,
        'application/merge-patch+json',
        {
          metadata: { labels },
        },
      );
      return `${displayName(type, name)} labeled`;
    },

    /** scale rs/web 5 */
    scale: async (args) => {
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      const replicas = Number(args.word(1));
      const resource = this.#resource(type, args);
      const scale = await resource.subresource<{ spec: object }>(name, 'scale', undefined, {
        method: 'GET',
      });
      await resource.subresource(
        name,
        'scale',
        { ...scale, spec: { ...scale.spec, replicas } },
        { method: 'PUT' },
      );
      return `${displayName(type, name)} scaled`;
    },

    /** delete rs/web [-n NAMESPACE] [cascade=foreground] [grace=0]; delete pods -l app=web */
    delete: async (args) => {
      const cascade = args.option('cascade');
      if (cascade !== undefined && !(cascade in CASCADES))
        throw new Error(`no such cascade: ${cascade}`);
      const grace = args.option('grace');
      const options = {
        propagationPolicy: CASCADES[(cascade ?? 'background') as keyof typeof CASCADES],
        ...(grace !== undefined && { gracePeriodSeconds: Number(grace) }),
      };
      const labelSelector = args.option('-l');
      if (labelSelector !== undefined) {
        const type = this.#kinds.resourceNamed(args.word(0));
        await this.#resource(type, args).deleteCollection({ ...options, labelSelector });
        return `${type.resource} deleted`;
      }
      const { type, name } = this.#kinds.objectNamed(args.word(0));
      await this.#resource(type, args).delete(name, options);
      return `${displayName(type, name)} deleted`;
    },

    /** load web 900m: sets the CPU usage of all pods with the label app=web together. */
    load: (args) => {
      if (this.#metrics === undefined)
        throw new Error('load: the cluster was not started with metrics=true');
      this.#metrics.set(`app=${args.word(0)}`, args.word(1));
      return Promise.resolve('');
    },

    /**
     * drain node-1: cordons it, and tries once to evict each of its pods, without those of
     * DaemonSets.
     */
    drain: async (args) => {
      const node = args.word(0);
      const lines = [await this.#setUnschedulable(node, true)];
      const inDefault = this.#resourceIn(this.#kinds.resourceNamed('pods'), DEFAULT_NAMESPACE);
      const { items } = await inDefault.list({ fieldSelector: `spec.nodeName=${node}` });
      for (const { metadata } of items) {
        const { name, ownerReferences = [], deletionTimestamp } = metadata;
        if (
          deletionTimestamp !== undefined ||
          ownerReferences.some(({ kind }) => kind === 'DaemonSet')
        )
          continue;
        const eviction = {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name, namespace: DEFAULT_NAMESPACE },
        };
        try {
          await inDefault.subresource(name, 'eviction', eviction);
          lines.push(`pod/${name} evicted`);
        } catch (error) {
          lines.push(
            `error when evicting pods/${JSON.stringify(name)} (will retry): ${(error as Error).message}`,
          );
        }
      }
      return lines.join('\n');
    },

    cordon: (args) => this.#setUnschedulable(args.word(0), true),
    uncordon: (args) => this.#setUnschedulable(args.word(0), false),

    /** Silences the node's kubelet. */
    'node-down': async (args) => {
      await this.#up.stopNode(args.word(0));
      return '';
    },
    'node-up': async (args) => {
      await this.#up.startNode(args.word(0));
      return '';
    },
  };

  get #up(): EmbeddedCluster<VirtualClock> {
    if (this.#cluster === undefined)
      throw new Error('a transcript begins with the command cluster');
    return this.#cluster;
  }

  #resource(type: AnyResource, args: Arguments): ResourceClient<KubeObject> {
    const namespace = args.option('-n');
    return this.#resourceIn(type, type.namespaced ? (namespace ?? DEFAULT_NAMESPACE) : undefined);
  }

  #resourceIn(type: AnyResource, namespace: string | undefined): ResourceClient<KubeObject> {
    const resource = this.#up.client.resource(type);
    return namespace === undefined ? resource : resource.namespace(namespace);
  }

  #listRequest(args: Arguments): TransportRequest {
    const type = this.#kinds.resourceNamed(args.word(0));
    const namespace = args.option('-n') ?? DEFAULT_NAMESPACE;
    const path = resourcePath(type, type.namespaced && !args.flag('-A') ? namespace : '');
    const name = args.words[1] === undefined ? undefined : args.word(1);
    return {
      method: 'GET',
      path,
      query: {
        labelSelector: args.option('-l'),
        fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
      },
    };
  }

  #table(request: TransportRequest): Promise<Table> {
    return this.#up.client.transport.request<Table>({ ...request, accept: AS_TABLE });
  }

  async #setUnschedulable(name: string, unschedulable: boolean): Promise<string> {
    const patch = { spec: { unschedulable: unschedulable || null } };
    await this.#resourceIn(this.#kinds.resourceNamed('nodes'), undefined).patch(
      name,
      'application/merge-patch+json',
      patch,
    );
    return `node/${name} ${unschedulable ? 'cordoned' : 'uncordoned'}`;
  }
}

function compareEvents(a: KubeObject, b: KubeObject): number {
  const lastSeen = (event: KubeObject): string =>
    String(valuesAt(event, '.lastTimestamp')[0] ?? '');
  return (
    lastSeen(a).localeCompare(lastSeen(b)) ||
    Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)
  );
}
