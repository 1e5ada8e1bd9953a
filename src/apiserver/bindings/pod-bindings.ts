// Binds many pods at once: what as many requests to pods/binding would do, for a scheduler that
// shares the process of the server. Each pod is written by the rules of that subresource, with its own
// revision and event, and each binding is counted in the metrics of requests.
//
// A binding is made here only if nothing could tell the difference. Every other one is refused, and
// the scheduler makes the plain request: when its user may not, when an admission plugin calls
// something else, when the request would be recorded in the audit log, and when the server fails.

import { pods } from '#api/groups/core/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Storage } from '#storage/interface.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { AdmissionAttributes } from '../admission/plugin.ts';
import type { AuditLog } from '../audit/index.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Subresource } from '../catalog/kind.ts';
import { isServed } from '../catalog/snapshot.ts';
import type { RequestMetrics } from '../endpoints/request-metrics.ts';
import { endpointLabels } from '../endpoints/router.ts';
import { attributesOf } from '../filters/authorization.ts';
import { parseRequestInfo } from '../filters/request-info.ts';
import type { FlowControl } from '../flow-control/index.ts';
import type { Flow } from '../flow-control/flow.ts';
import type { CreateOptions } from '../registry/rest.ts';
import type { RequestContext } from '../registry/strategy.ts';
import type { UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';

/** A pod and the node that it is to be bound to. */
export interface PodBinding {
  readonly namespace: string;
  readonly name: string;
  /** The UID of the pod: another pod with the name is not bound. */
  readonly uid: string;
  readonly node: string;
}

/** Bindings that are made together. */
export interface PodBindingBatch {
  readonly bindings: readonly PodBinding[];
  readonly user: UserInfo;
  readonly userAgent: string;
}

/**
 * The outcome of a binding. 'refused': nothing was done, and the plain request has to be made. A Status:
 * the error with which the request would have failed.
 */
export type BindingResult = 'bound' | 'refused' | apierrors.Status;

export interface PodBindingsConfig {
  readonly storage: Pick<Storage, 'now'>;
  readonly catalog: Catalog;
  readonly authorizer: Authorizer;
  readonly admission: AdmissionChain;
  readonly metrics: RequestMetrics;
  readonly flowControl: FlowControl;
  /** Absent: there is no audit log. */
  readonly audit?: AuditLog;
  /** Reports whether the server itself serves pods, to clients in the process. */
  readonly serves: () => boolean;
}

const SUBRESOURCE = 'binding';
const CREATED = 201;
const REFUSED = 'refused';

/** One binding of a batch. */
interface Item {
  readonly binding: PodBinding;
  readonly info: RequestState['info'];
  result: BindingResult;
}

/** Common to all bindings of a batch. */
interface BatchContext {
  readonly request: RequestState;
  readonly user: UserInfo;
  readonly served: Subresource;
}

export class PodBindings {
  readonly #config: PodBindingsConfig;

  constructor(config: PodBindingsConfig) {
    this.#config = config;
  }

  /**
   * Resolves with the outcome of each binding, in their order, when the bound pods are stored. Waits
   * for seats of priority and fairness. Never rejects because of a single binding.
   */
  async bind({ bindings, user, userAgent }: PodBindingBatch): Promise<readonly BindingResult[]> {
    const { catalog, storage, serves } = this.#config;
    const kind = catalog.snapshot().get(pods.group, pods.version, pods.resource);
    const served = kind?.subresources?.find(({ name }) => name === SUBRESOURCE);
    const [first] = bindings;
    if (first === undefined || kind === undefined || served === undefined)
      return bindings.map(() => REFUSED);
    // Objects that admission needs are in this process then: no call waits for them.
    if (storage.now === undefined || !isServed(kind) || !serves())
      return bindings.map(() => REFUSED);
    const request = requestOf(first, user, userAgent);
    const context: BatchContext = { request, user, served };
    const items = bindings.map((binding): Item => ({
      binding,
      info: infoOf(request, binding),
      result: REFUSED,
    }));
    const labels = { ...endpointLabels(kind), subresource: SUBRESOURCE };
    await Promise.all(
      [...this.#byFlow(items, user)].map(async ([flow, ofFlow]) => {
        const end = await this.#config.flowControl.beginTogether(flow, ofFlow.length);
        try {
          await this.#bindAll(ofFlow, context, labels);
        } finally {
          end(ofFlow.filter(({ result }) => result !== REFUSED).length);
        }
      }),
    );
    return items.map(({ result }) => result);
  }

  #byFlow(items: readonly Item[], user: UserInfo): ReadonlyMap<Flow, readonly Item[]> {
    const { classifier } = this.#config.flowControl;
    const byFlow = new Map<Flow, Item[]>();
    for (const item of items) {
      const flow = classifier.flowOf({ info: item.info, user });
      const ofFlow = byFlow.get(flow);
      if (ofFlow === undefined) byFlow.set(flow, [item]);
      else ofFlow.push(item);
    }
    return byFlow;
  }

  async #bindAll(
    items: readonly Item[],
    context: BatchContext,
    labels: ReturnType<typeof endpointLabels>,
  ): Promise<void> {
    const { metrics, audit } = this.#config;
    const end = metrics.beginTogether(context.request, items.length, labels);
    try {
      await Promise.all(
        items.map(async (item) => {
          item.result = await this.#bindOne(item, context);
        }),
      );
    } finally {
      end(items.filter(({ result }) => result === 'bound').length, CREATED);
      let served = 0;
      for (const { result } of items) {
        if (result === REFUSED) continue;
        served++;
        if (result !== 'bound')
          metrics.endpoint(labels).observe(context.request, result.code ?? 500);
      }
      audit?.countUnrecorded(served);
    }
  }

  async #bindOne(
    { binding, info }: Item,
    { request, user, served }: BatchContext,
  ): Promise<BindingResult> {
    const { admission, audit, authorizer } = this.#config;
    const access = attributesOf({ info, user, query: request.query });
    const decided = authorizer.authorize(access);
    if (decided instanceof Promise || decided.decision !== 'allow') return REFUSED;
    if (audit !== undefined && audit.levelOf(access) !== 'None') return REFUSED;
    const { namespace, name } = binding;
    const object: KubeObject = bindingObject(binding);
    const attributes = {
      operation: 'CREATE',
      kind: served.kind,
      resource: pods,
      subresource: SUBRESOURCE,
      namespace,
      name,
      object,
      query: request.query,
      dryRun: false,
      user,
      warnings: [],
    } satisfies AdmissionAttributes;
    if (!admission.decidesAlone(attributes)) return REFUSED;
    const context: RequestContext = {
      user,
      namespace,
      signal: request.signal,
      verb: info.verb,
      warnings: [],
    };
    const options: CreateOptions = {
      dryRun: false,
      fieldManager: '',
      validate: (candidate) =>
        admission.validate({ ...attributes, object: candidate as KubeObject }),
    };
    try {
      const admitted = admission.admit(attributes);
      const admittedObject = admitted instanceof Promise ? await admitted : admitted;
      await served.rest.create?.(context, name, admittedObject, options);
      return 'bound';
    } catch (error) {
      // An unexpected error is reported by the plain request.
      return error instanceof apierrors.StatusError ? error.status : REFUSED;
    }
  }
}

/** Returns the Binding as the server decodes it. */
function bindingObject({ namespace, name, uid, node }: PodBinding): KubeObject {
  const binding: unknown = {
    kind: 'Binding',
    apiVersion: 'v1',
    metadata: { name, namespace, uid },
    target: { kind: 'Node', name: node },
  };
  return binding as KubeObject;
}

function pathOf({ namespace, name }: PodBinding): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}/${SUBRESOURCE}`;
}

/** Returns the request by which the scheduler binds the pod, without its body. */
function requestOf(binding: PodBinding, user: UserInfo, userAgent: string): RequestState {
  const request = new RequestState({
    method: 'POST',
    path: pathOf(binding),
    query: '',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: { kind: 'object', object: undefined },
    remoteAddress: '127.0.0.1',
    user,
  });
  request.info = parseRequestInfo(request);
  return request;
}

/** Returns the info of the request that binds another pod. */
function infoOf({ info }: RequestState, binding: PodBinding): RequestState['info'] {
  const { namespace, name } = binding;
  return { ...info, path: pathOf(binding), namespace, name, pathName: name };
}
