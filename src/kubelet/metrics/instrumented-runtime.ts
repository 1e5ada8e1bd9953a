// Wraps a container runtime to count and time the kubelet's calls.

import type { ImageService, Runtime, RuntimeService } from '#cri/index.ts';
import type { KubeletMetrics } from './kubelet-metrics.ts';

/** Upstream's names of the operations (pkg/kubelet/kuberuntime/instrumented_services.go). */
const RUNTIME_OPERATIONS: Readonly<Partial<Record<keyof RuntimeService, string>>> = {
  version: 'version',
  status: 'status',
  updateRuntimeConfig: 'update_runtime_config',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  listContainers: 'list_containers',
  containerStatus: 'container_status',
  updateContainerResources: 'update_container',
  checkpointContainer: 'checkpoint_container',
  reopenContainerLog: 'reopen_container_log',
  execSync: 'exec_sync',
  exec: 'exec',
  attach: 'attach',
  portForward: 'port_forward',
  containerStats: 'container_stats',
  listContainerStats: 'list_container_stats',
  podSandboxStats: 'podsandbox_stats',
  listPodSandboxStats: 'list_podsandbox_stats',
};

const IMAGE_OPERATIONS: Readonly<Record<keyof ImageService, string>> = {
  listImages: 'list_images',
  imageStatus: 'image_status',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
};

/** Sessions last as long as the user wants, so they are counted, but not timed. */
const SESSIONS: ReadonlySet<string> = new Set(['exec', 'attach', 'port_forward']);

/**
 * Operations after which the runtime may have other pods, containers, images or settings than
 * before.
 */
const CHANGES: ReadonlySet<string> = new Set([
  'update_runtime_config',
  'run_podsandbox',
  'stop_podsandbox',
  'remove_podsandbox',
  'create_container',
  'start_container',
  'stop_container',
  'remove_container',
  'update_container',
  'pull_image',
  'remove_image',
]);

/**
 * Returns the runtime with every call counted. The runtime itself stays as it is. `onChange` is
 * called after each that changes it.
 */
export function instrumentRuntime(
  runtime: Runtime,
  metrics: KubeletMetrics,
  onChange: () => void,
): Runtime {
  return {
    name: runtime.name,
    runtime: instrumented(runtime.runtime, RUNTIME_OPERATIONS, metrics, onChange),
    images: instrumented(runtime.images, IMAGE_OPERATIONS, metrics, onChange),
    close: () => runtime.close(),
  };
}

function instrumented<T extends object>(
  service: T,
  operations: Readonly<Record<string, string>>,
  metrics: KubeletMetrics,
  onChange: () => void,
): T {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy(service, {
    get(target, name) {
      const present = methods.get(name);
      if (present !== undefined) return present;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      // Looked up at each call, because a test may replace a method.
      const method = (...args: readonly unknown[]): unknown =>
        Reflect.apply(Reflect.get(target, name) as () => unknown, target, args);
      const operation =
        typeof name === 'string' && Object.hasOwn(operations, name) ? operations[name] : undefined;
      const wrapped =
        operation === undefined ? method : counted(method, operation, metrics, onChange);
      methods.set(name, wrapped);
      return wrapped;
    },
  });
}

function counted(
  method: (...args: readonly unknown[]) => unknown,
  operation: string,
  metrics: KubeletMetrics,
  onChange: () => void,
): (...args: readonly unknown[]) => unknown {
  return (...args) => {
    const seconds = SESSIONS.has(operation) ? () => undefined : metrics.timer();
    const result = method(...args);
    // The result is observed separately, so that the caller does not wait longer than without
    // metrics.
    const ended = (failed: boolean): void => {
      const took = seconds();
      metrics.runtimeOperation(operation, took, failed);
      if (operation === 'run_podsandbox' && took !== undefined)
        metrics.sandboxRun(typeof args[1] === 'string' ? args[1] : '', took, failed);
      if (CHANGES.has(operation)) onChange();
    };
    Promise.resolve(result).then(
      () => ended(false),
      () => ended(true),
    );
    return result;
  };
}
