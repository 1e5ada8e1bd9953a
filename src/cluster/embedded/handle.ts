// The operations of a program on a cluster that runs inside it.

import type { Agent } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import type {
  Client,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ResourceClient,
} from '#client/client.ts';
import { resourcePath } from '#client/request.ts';
import { describe, meets, waitFor, type WaitCondition } from '#client/wait-for.ts';
import {
  type ControllerDefinition,
  runController,
  type RunControllerOptions,
} from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock, type Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { silentLogger, type Logger } from '#machinery/log.ts';
import { systemRandom, type Random } from '#machinery/random.ts';
import { WaitTimeoutError } from '#machinery/wait.ts';
import type { Restart } from '#simulation/index.ts';
import { Restartable } from '../components/restartable.ts';
import { installDefinitions, type Definitions } from './extensions/install.ts';
import { LocalAgent } from './local-agent.ts';
import {
  applyManifest,
  type ApplyManifestOptions,
  type Manifest,
  ServedKinds,
} from './manifests.ts';
import {
  connectToPod,
  execInPod,
  type ExecOptions,
  type ExecResult,
  type PodOptions,
} from './pod-streams.ts';

export interface InNamespace {
  /** Default: 'default'. Ignored for cluster-scoped resources. */
  readonly namespace?: string;
}

export interface ClusterWaitOptions extends InNamespace {
  /** Default: a minute on the real clock, an hour of virtual time. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface LogOptions extends PodOptions {
  /** Default: the pod's default container. */
  readonly container?: string;
  /** The log of the container before its last restart. Default: false. */
  readonly previous?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  readonly timestamps?: boolean;
}

/** A controller that runs beside the cluster's own. */
export interface RunningController {
  /** The component that it is for faults: its name, or 'NAME#2' for the second one of that name. */
  readonly name: string;
  /**
   * Resolves when no reconcile is in flight. Rejects with the error that ended the controller.
   * Idempotent.
   */
  stop(): Promise<void>;
}

/** A cluster inside this process. Everything is done as the administrator. */
export interface ClusterHandle<C extends Clock = Clock> {
  readonly client: Client;
  readonly clock: C;
  /** The address of the API server; undefined if it has no port. */
  readonly url: string | undefined;
  /** Kubeconfig as YAML; undefined without a port. */
  readonly kubeconfig: string | undefined;
  /**
   * A file with the kubeconfig, readable by this user only; undefined without a port.
   * `startCluster` deletes it when it stops.
   */
  readonly kubeconfigPath: string | undefined;
  /**
   * An agent for node:http whose connections go to the API server without a port, unencrypted and
   * as the administrator. Use it with any URL that begins with http://.
   */
  readonly agent: Agent;
  /**
   * Server-side apply of a manifest (YAML text, objects, custom resources included). Returns the
   * objects after it. Rejects with StatusError; with the reason Conflict if another manager owns a
   * field that would change (see `force`).
   */
  apply(manifest: Manifest, options?: ApplyManifestOptions): Promise<readonly KubeObject[]>;
  /**
   * Installs CustomResourceDefinitions, and waits until their resources are served: from a file or
   * folder, YAML text, objects, or resources
   * of `defineCustomResource`. Objects of other kinds are ignored. Returns the definitions.
   */
  install(definitions: Definitions): Promise<readonly KubeObject[]>;
  /** Rejects with StatusError, with the reason NotFound for an object that does not exist. */
  get<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    options?: InNamespace & GetOptions,
  ): Promise<Immutable<T>>;
  /** Returns the objects of a namespace, or of all (the default). */
  list<T extends KubeObject>(
    type: ResourceType<T>,
    options?: InNamespace & ListOptions,
  ): Promise<readonly Immutable<T>[]>;
  /** Deletes one object. It may exist for a while after that: `waitFor(type, name, 'deleted')`. */
  delete<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    options?: InNamespace & DeleteOptions,
  ): Promise<void>;
  /**
   * Waits for a condition: the type of a status condition ('Available', 'Ready', 'Complete'),
   * 'deleted', or a function. The object need not exist yet. A virtual clock is moved forward until
   * it is met. Returns the object, undefined once it is deleted. Rejects with WaitTimeoutError.
   */
  waitFor<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    condition: WaitCondition<T>,
    options?: ClusterWaitOptions,
  ): Promise<Immutable<T> | undefined>;
  /** Returns the log of a container. */
  logs(pod: string, options?: LogOptions): Promise<string>;
  /** Returns the log as it is written. Ends with the container, or when the signal aborts. */
  followLogs(pod: string, options?: LogOptions): Promise<AsyncIterable<Uint8Array>>;
  /** Runs a command in a container. An exit code other than 0 is not an error. */
  exec(pod: string, command: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /**
   * Returns a connection to a port of a pod. No port of this machine is opened. Simulated pods do
   * not listen.
   */
  portForward(pod: string, port: number, options?: PodOptions): Promise<Duplex>;
  /**
   * Runs a controller of `coxswain/controller` on the cluster's clock, until it or the cluster is
   * stopped.
   */
  runController(
    controller: ControllerDefinition,
    options?: Omit<RunControllerOptions, 'client' | 'signal'>,
  ): RunningController;
  /** Idempotent. */
  stop(): Promise<void>;
}

export type {
  ApplyManifestOptions,
  Definitions,
  ExecOptions,
  ExecResult,
  Manifest,
  PodOptions,
  Readable,
};

export interface HandleConfig<C extends Clock> {
  readonly client: Client;
  readonly clock: C;
  readonly url: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly kubeconfigPath: string | undefined;
  readonly random?: Random;
  readonly logger?: Logger;
  connect(): Duplex;
  /**
   * Returns the client of an own controller, by which faults tell its requests apart (`component`)
   * and managed fields name it (`userAgent`). Default: `client`.
   */
  readonly clientOfController?: (component: string, userAgent: string) => Client;
  /** Returns the clock of an own controller. Default: `clock`. */
  readonly clockOfController?: (name: string) => Clock;
  /**
   * Called with a controller that runs, and how it is started again. Returns what is called when it
   * has stopped.
   */
  readonly registerController?: (name: string, restart: Restart) => () => void;
  /** Advances time until a promise settles, on a clock that does not move by itself. */
  moving<T>(promise: Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

const VIRTUAL_TIMEOUT_MS = 3_600_000;

/** Makes the handle of a cluster that runs. */
export function makeHandle<C extends Clock>(config: HandleConfig<C>): ClusterHandle<C> {
  const { client, clock, connect, moving, random = systemRandom, logger = silentLogger } = config;
  const kinds = new ServedKinds(client);
  const agent = new LocalAgent(connect);
  const stopping = new AbortController();
  const controllers = new Set<RunningController>();
  const instances = new Map<string, number>();
  const logPath = (pod: string, namespace: string): string =>
    resourcePath(pods, namespace, pod, 'log');
  let stopped: Promise<void> | undefined;

  const stop = async (): Promise<void> => {
    stopping.abort(new Error('the cluster stops'));
    const results = await Promise.allSettled(
      [...controllers].map((controller) => controller.stop()),
    );
    agent.destroy();
    await config.stop();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  };

  const handle: ClusterHandle<C> = {
    client,
    clock,
    url: config.url,
    kubeconfig: config.kubeconfig,
    kubeconfigPath: config.kubeconfigPath,
    agent,
    apply: (manifest, options) => applyManifest(client, kinds, manifest, options),
    install: (definitions) =>
      installDefinitions(
        {
          apply: (objects) =>
            handle.apply(objects, { fieldManager: 'coxswain-install', force: true }),
          established: (name) => handle.waitFor(customResourceDefinitions, name, 'Established'),
        },
        definitions,
      ),
    get: (type, name, { namespace, ...options } = {}) =>
      scoped(client, type, namespace ?? 'default').get(name, options),
    async list(type, { namespace = '', ...options } = {}) {
      return (await scoped(client, type, namespace).list(options)).items;
    },
    async delete(type, name, { namespace, ...options } = {}) {
      await scoped(client, type, namespace ?? 'default').delete(name, options);
    },
    waitFor: (type, name, condition, options = {}) => {
      const resource = scoped(client, type, options.namespace ?? 'default');
      if (clock instanceof VirtualClock) return waitOn(clock, resource, name, condition, options);
      return waitFor(resource, name, condition, { ...options, clock });
    },
    logs: async (pod, { namespace = 'default', signal, ...query } = {}) =>
      client.transport.text({
        method: 'GET',
        path: logPath(pod, namespace),
        query: { ...query },
        signal,
      }),
    followLogs: async (pod, { namespace = 'default', signal, ...query } = {}) =>
      client.transport.stream({
        method: 'GET',
        path: logPath(pod, namespace),
        query: { ...query, follow: true },
        signal,
      }),
    exec: (pod, command, options) => moving(execInPod({ clock, agent }, pod, command, options)),
    portForward: (pod, port, options) => connectToPod({ clock, agent }, pod, port, options),
    runController(definition, options = {}) {
      const ending = new AbortController();
      const signal = AbortSignal.any([stopping.signal, ending.signal]);
      const name = instanceName(definition.name, instances);
      const ownClock = config.clockOfController?.(name) ?? clock;
      const ownClient = config.clientOfController?.(name, definition.name) ?? client;
      const component = new Restartable((until) =>
        runController(definition, {
          clock: ownClock,
          random,
          logger,
          ...options,
          client: ownClient,
          signal: until,
        }),
      );
      const run = component.run(signal);
      const forget = config.registerController?.(name, (down) => component.restart(down));
      // A failure is reported by stop().
      run.catch(() => undefined);
      const controller: RunningController = {
        name,
        async stop() {
          controllers.delete(controller);
          ending.abort(new Error('the controller is stopped'));
          await moving(run);
          forget?.();
        },
      };
      controllers.add(controller);
      return controller;
    },
    stop: () => (stopped ??= stop()),
  };
  return handle;
}

/** Returns 'NAME', or 'NAME#2' for the second controller of that name. */
function instanceName(name: string, instances: Map<string, number>): string {
  const number = (instances.get(name) ?? 0) + 1;
  instances.set(name, number);
  return number === 1 ? name : `${name}#${number}`;
}

function scoped<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  namespace: string,
): ResourceClient<T> {
  const resource = client.resource(type);
  return type.namespaced ? resource.namespace(namespace) : resource;
}

/** Waits as `waitFor`, and advances the clock. */
async function waitOn<T extends KubeObject>(
  clock: VirtualClock,
  resource: ResourceClient<T>,
  name: string,
  condition: WaitCondition<T>,
  { timeoutMs = VIRTUAL_TIMEOUT_MS, signal }: ClusterWaitOptions,
): Promise<Immutable<T> | undefined> {
  let current: Immutable<T> | undefined;
  const look = async (): Promise<boolean> => {
    signal?.throwIfAborted();
    try {
      current = await resource.get(name);
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      current = undefined;
    }
    return meets(current, condition);
  };
  try {
    await clock.runUntil(look, timeoutMs);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('virtual clock: the condition')) {
      const message = `timed out waiting for ${name} to be ${describe(condition)}: ${errorMessage(error)}`;
      throw new WaitTimeoutError(message);
    }
    throw error;
  }
  return current;
}
