// The chain of all admission plugins.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import { type AdmissionDurations, type AdmissionMetrics, type Step, StepTimer } from './metrics.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget, Operation } from './plugin.ts';
import { Reinvocation } from './reinvocation.ts';

type Admitted = AdmissionAttributes & { readonly object: KubeObject };
type Admit = Required<Pick<AdmissionPlugin, 'admit'>>['admit'];
type AdmitRequest = Required<Pick<AdmissionPlugin, 'admitRequest'>>['admitRequest'];
type Validate = Required<Pick<AdmissionPlugin, 'validate'>>['validate'];

/** One plugin in one step of the chain. */
interface Stage<Call> {
  readonly plugin: AdmissionPlugin;
  readonly call: Call;
  /** The histograms for the plugin's durations. Absent: nothing is measured. */
  readonly durations: AdmissionDurations | undefined;
}

/** The plugins that apply to writes of one kind. */
interface Concerned {
  readonly admitting: readonly Stage<Admit>[];
  readonly admittingRequests: readonly Stage<AdmitRequest>[];
  readonly validating: readonly Stage<Validate>[];
  readonly admitStep: AdmissionDurations | undefined;
  readonly validateStep: AdmissionDurations | undefined;
}

export interface AdmissionMeasuring {
  readonly clock: Clock;
  readonly metrics: AdmissionMetrics;
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #measuring: AdmissionMeasuring | undefined;
  /** The plugins by resource, then by subresource and operation. */
  readonly #concerned = new WeakMap<
    AdmissionTarget['resource'],
    Map<string, Map<Operation, Concerned>>
  >();

  /** Creates a chain. `measuring`: where durations are recorded. Absent: they are not measured. */
  constructor(plugins: readonly AdmissionPlugin[], measuring?: AdmissionMeasuring) {
    this.#plugins = plugins;
    this.#measuring = measuring;
  }

  /**
   * Returns the object as the plugins have changed it. Each plugin gets the result of the one
   * before. Returns synchronously if no plugin has to wait. Rejects with StatusError.
   */
  admit(attributes: Admitted): Awaitable<KubeObject> {
    const { admitting, admitStep } = this.#concernedBy(attributes);
    const reinvocation = new Reinvocation();
    // The attributes are copied first and then changed, which is several times as fast as an object
    // literal with a spread and further members.
    const first: Admitted & { reinvocation?: Reinvocation } = { ...attributes };
    first.reinvocation = reinvocation;
    try {
      return this.#admitFrom(0, admitting, first, reinvocation, this.#timer(admitStep));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #admitFrom(
    from: number,
    stages: readonly Stage<Admit>[],
    attributes: Admitted,
    reinvocation: Reinvocation,
    timer: StepTimer | undefined,
  ): Awaitable<KubeObject> {
    let current = attributes;
    let at = from;
    do {
      while (at < stages.length) {
        const stage = stages[at++]!;
        if (stage.plugin.handles?.(current) === false) continue;
        const result = called(stage, current, timer);
        if (result instanceof Promise) {
          const inputObject = current;
          return result.then(
            (object) => {
              accepted(stage, timer);
              return this.#admitFrom(
                at,
                stages,
                withObject(inputObject, object),
                reinvocation,
                timer,
              );
            },
            rejecting(stage, timer),
          );
        }
        accepted(stage, timer);
        current = withObject(current, result);
      }
      at = 0;
    } while (reinvocation.begin());
    timer?.finished();
    return current.object;
  }

  /**
   * Calls the plugins that may change a request without an object (DELETE, CONNECT). Returns its
   * attributes with the changed options of the connection; the same attributes, synchronously, if
   * no plugin applies. Rejects with StatusError.
   */
  admitRequest(attributes: AdmissionAttributes): Awaitable<AdmissionAttributes> {
    const { admittingRequests, admitStep } = this.#concernedBy(attributes);
    if (!admittingRequests.some(({ plugin }) => plugin.handles?.(attributes) !== false))
      return attributes;
    return this.#admitRequest(admittingRequests, attributes, this.#timer(admitStep));
  }

  async #admitRequest(
    stages: readonly Stage<AdmitRequest>[],
    attributes: AdmissionAttributes,
    timer: StepTimer | undefined,
  ): Promise<AdmissionAttributes> {
    const reinvocation = new Reinvocation();
    let current: AdmissionAttributes = { ...attributes, reinvocation };
    do {
      for (const stage of stages) {
        if (stage.plugin.handles?.(current) === false) continue;
        let options;
        try {
          options = await stage.call(current);
        } catch (error) {
          return rejecting(stage, timer)(error);
        }
        accepted(stage, timer);
        if (options !== undefined) current = { ...current, connectOptions: () => options };
      }
    } while (reinvocation.begin());
    timer?.finished();
    return current;
  }

  /**
   * Calls the validating plugins. Returns synchronously if no plugin has to wait. Rejects with
   * StatusError.
   */
  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const { validating, validateStep } = this.#concernedBy(attributes);
    try {
      return validateFrom(0, validating, attributes, this.#timer(validateStep));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Admits many heartbeats of one kind by nodes, of which `attributes` is one. Returns a function
   * that counts them in the metrics, as `admit` and `validate` do; undefined if a plugin might
   * change or reject one of them, or has to wait.
   */
  admitAlike(attributes: Admitted): ((heartbeats: number) => void) | undefined {
    const { admitting, validating, admitStep, validateStep } = this.#concernedBy(attributes);
    const counted: (AdmissionDurations | undefined)[] = [admitStep, validateStep];
    try {
      for (const { plugin, call, durations } of admitting) {
        if (plugin.handles?.(attributes) === false) continue;
        if (plugin.ignoresHeartbeats !== true || call(attributes) !== attributes.object)
          return undefined;
        counted.push(durations);
      }
      for (const { plugin, call, durations } of validating) {
        if (plugin.handles?.(attributes) === false) continue;
        if (plugin.ignoresHeartbeats !== true || call(attributes) !== undefined) return undefined;
        counted.push(durations);
      }
    } catch (error) {
      // Each heartbeat is rejected on its own, with this error.
      if (error instanceof apierrors.StatusError) return undefined;
      throw error;
    }
    return (heartbeats) => {
      // One call of each plugin is too short to be measured, and is made for all.
      for (const durations of counted) durations?.accepted.observe(0, heartbeats);
    };
  }

  #timer(step: AdmissionDurations | undefined): StepTimer | undefined {
    return this.#measuring === undefined || step === undefined
      ? undefined
      : new StepTimer(this.#measuring.clock, step);
  }

  #concernedBy({ operation, resource, subresource }: AdmissionTarget): Concerned {
    let ofResource = this.#concerned.get(resource);
    if (ofResource === undefined) {
      ofResource = new Map();
      this.#concerned.set(resource, ofResource);
    }
    let ofSubresource = ofResource.get(subresource);
    if (ofSubresource === undefined) {
      ofSubresource = new Map();
      ofResource.set(subresource, ofSubresource);
    }
    let concerned = ofSubresource.get(operation);
    if (concerned === undefined) {
      concerned = this.#resolve({ operation, resource, subresource });
      ofSubresource.set(operation, concerned);
    }
    return concerned;
  }

  #resolve(target: AdmissionTarget): Concerned {
    const { operation } = target;
    const metrics = this.#measuring?.metrics;
    const plugins = this.#plugins.filter((plugin) => plugin.concerns?.(target) !== false);
    const stagesOf = <Call>(
      step: Step,
      callOf: (plugin: AdmissionPlugin) => Call | undefined,
    ): Stage<Call>[] =>
      plugins.flatMap((plugin) => {
        const call = callOf(plugin);
        return call === undefined
          ? []
          : { plugin, call, durations: metrics?.plugin(plugin.name, operation, step) };
      });
    return {
      admitting: stagesOf('admit', (plugin) => plugin.admit?.bind(plugin)),
      admittingRequests: stagesOf('admit', (plugin) => plugin.admitRequest?.bind(plugin)),
      validating: stagesOf('validate', (plugin) => plugin.validate?.bind(plugin)),
      admitStep: metrics?.step(operation, 'admit'),
      validateStep: metrics?.step(operation, 'validate'),
    };
  }
}

/** Calls the plugin. An error is recorded as a rejection, and rethrown. */
function called<A, R>(
  stage: Stage<(attributes: A) => R>,
  attributes: A,
  timer: StepTimer | undefined,
): R {
  try {
    return stage.call(attributes);
  } catch (error) {
    if (stage.durations !== undefined) timer?.rejected(stage.durations);
    throw error;
  }
}

function accepted({ durations }: Stage<unknown>, timer: StepTimer | undefined): void {
  if (durations !== undefined) timer?.accepted(durations);
}

function rejecting(
  { durations }: Stage<unknown>,
  timer: StepTimer | undefined,
): (error: unknown) => never {
  return (error) => {
    if (durations !== undefined) timer?.rejected(durations);
    throw error;
  };
}

function withObject(attributes: Admitted, object: KubeObject): Admitted {
  if (object === attributes.object) return attributes;
  const copy: AdmissionAttributes & { object: KubeObject } = { ...attributes };
  copy.object = object;
  return copy;
}

function validateFrom(
  from: number,
  stages: readonly Stage<Validate>[],
  attributes: AdmissionAttributes,
  timer: StepTimer | undefined,
): Awaitable<void> {
  for (let at = from; at < stages.length; at++) {
    const stage = stages[at]!;
    if (stage.plugin.handles?.(attributes) === false) continue;
    const result = called(stage, attributes, timer);
    if (result instanceof Promise) {
      return result.then(
        () => {
          accepted(stage, timer);
          return validateFrom(at + 1, stages, attributes, timer);
        },
        rejecting(stage, timer),
      );
    }
    accepted(stage, timer);
  }
  timer?.finished();
  return undefined;
}
