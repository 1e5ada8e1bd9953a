// MutatingAdmissionPolicy: changes objects by the expressions of bound policies.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from '#api/groups/admissionregistration/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import { Budget } from '#cel/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { MutatingPlugin, subjectOf } from '#apiserver/admission/mutating-plugin.ts';
import type { AdmissionAttributes, AdmissionTarget } from '#apiserver/admission/plugin.ts';
import { findCodec } from '#apiserver/catalog/codec.ts';
import { Reinvocation } from '#apiserver/admission/reinvocation.ts';
import { Rounds } from '#apiserver/admission/rounds.ts';
import { convertVersion } from '../conversion.ts';
import { Evaluation, OutOfBudgetError } from '../evaluation.ts';
import { isExempt, refusal } from '../exempt.ts';
import { findInvocations, type Invocation } from '../invocations.ts';
import { evaluateMatchConditions } from '../match-conditions.ts';
import { errorTypeOf } from '../metrics.ts';
import { PolicySource } from '../policy-source.ts';
import { PolicyRequest } from '../request.ts';
import type { PolicyServices } from '../services.ts';
import { applyConfiguration, applyPatch, MutationError } from './apply.ts';
import {
  type Binding,
  type CompiledPolicy,
  compilePolicy,
  type Mutation,
  type Policy,
} from './compile.ts';

type Turn = Invocation<Policy, Binding, CompiledPolicy>;

interface Problem {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly message: string;
  readonly reason: apierrors.StatusReason;
}

export class MutatingAdmissionPolicy extends MutatingPlugin {
  readonly name = 'MutatingAdmissionPolicy';
  readonly #services: PolicyServices;
  readonly #source: PolicySource<Policy, Binding, CompiledPolicy>;

  constructor(services: PolicyServices) {
    super();
    this.#services = services;
    this.#source = new PolicySource({
      ...services,
      policies: mutatingAdmissionPolicies,
      bindings: mutatingAdmissionPolicyBindings,
      compile: compilePolicy,
    });
  }

  concerns(target: AdmissionTarget): boolean {
    return !isExempt(target);
  }

  handles(attributes: AdmissionAttributes): boolean {
    return this.#source.mayApply(attributes);
  }

  /** Resolves with the attributes after all policies. Rejects with StatusError. */
  protected async dispatch(attributes: AdmissionAttributes): Promise<AdmissionAttributes> {
    const hooks = await this.#source.hooksFor(attributes);
    if (hooks.length === 0) return attributes;
    const invocations = await findInvocations(new PolicyRequest(attributes, this.#services), hooks);
    if (invocations.length === 0) return attributes;
    const problems: Problem[] = [];
    const turns: Turn[] = [];
    for (const { invocation, misconfiguration } of invocations) {
      if (invocation !== undefined) turns.push(invocation);
      else
        problems.push({
          ...misconfiguration,
          message: misconfiguration.problem,
          reason: 'Forbidden',
        });
    }
    const mutated = await this.#mutate(attributes, turns, problems);
    const reasons = problems.filter(({ policy }) => policy.spec.failurePolicy !== 'Ignore');
    if (reasons.length > 0) throw denied(attributes, reasons);
    return mutated;
  }

  async #mutate(
    attributes: AdmissionAttributes,
    turns: readonly Turn[],
    problems: Problem[],
  ): Promise<AdmissionAttributes> {
    const rounds = Rounds.of(
      attributes.reinvocation ?? new Reinvocation(),
      this.name,
      subjectOf(attributes),
    );
    let current = attributes;
    let mutated = false;
    for (const turn of turns) {
      const { policy, binding, compiled, param } = turn;
      const problem = (message: string): void => {
        problems.push({ policy, binding, message, reason: 'Invalid' });
      };
      // Each policy gets the object as changed by the policies before it.
      const conditions = await this.#evaluation(new PolicyRequest(current, this.#services), turn);
      const matched = await evaluateMatchConditions(conditions, compiled.matchConditions);
      if (matched.problem !== undefined && policy.spec.failurePolicy !== 'Ignore')
        problem(matched.problem);
      if (matched.problem !== undefined || !matched.matches) continue;
      const key = [policy, binding, param]
        .map((one) => `${one?.metadata.namespace ?? ''}/${one?.metadata.name ?? ''}`)
        .join(' ');
      if (!rounds.takes(key)) continue;
      const before = subjectOf(current);
      // A deletion has no object to change.
      for (const mutation of before === undefined ? [] : compiled.mutations) {
        const request = new PolicyRequest(current, this.#services);
        const outcome = await this.#timed(turn, () => this.#apply(request, turn, mutation));
        if (outcome instanceof Error) {
          problem(outcome.message);
        } else {
          current = outcome;
          mutated = true;
        }
      }
      const changed = !deepEqual(before, subjectOf(current));
      rounds.done(key, { changed, ifNeeded: policy.spec.reinvocationPolicy === 'IfNeeded' });
    }
    rounds.end(subjectOf(current), mutated);
    return current;
  }

  async #timed(
    { policy, binding }: Turn,
    mutate: () => Promise<AdmissionAttributes>,
  ): Promise<AdmissionAttributes | Error> {
    const { clock, policyMetrics } = this.#services;
    const start = clock.monotonic();
    const observe = (error: string | undefined, action: 'allow' | 'deny'): void => {
      const seconds = (clock.monotonic() - start) / 1000;
      policyMetrics.mutating.observe(
        policy.metadata.name,
        binding.metadata.name,
        errorTypeOf(error),
        action,
        seconds,
      );
    };
    try {
      const attributes = await mutate();
      observe(undefined, 'allow');
      return attributes;
    } catch (error) {
      if (error instanceof apierrors.StatusError) observe(error.message, 'deny');
      if (!(error instanceof MutationError) && !(error instanceof OutOfBudgetError)) throw error;
      observe(error.message, 'deny');
      return error;
    }
  }

  /** Returns the evaluation of a policy. Throws NotFound if the namespace does not exist. */
  async #evaluation(
    request: PolicyRequest,
    { matched, compiled, param }: Turn,
  ): Promise<Evaluation> {
    const objects = await request.inVersion(matched.kind);
    const namespace =
      request.namespace === '' || request.isNamespace ? undefined : await request.findNamespace();
    if (namespace === undefined && request.namespace !== '' && !request.isNamespace) {
      throw apierrors.notFound({ group: '', resource: 'namespaces' }, request.namespace);
    }
    const { authorizer, celMetrics: metrics } = this.#services;
    const { variables } = compiled;
    return new Evaluation({
      request,
      matched,
      objects,
      params: param,
      namespace,
      authorizer,
      variables,
      metrics,
    });
  }

  /**
   * Resolves with the attributes after one mutation. Rejects with MutationError, OutOfBudgetError,
   * StatusError.
   */
  async #apply(
    request: PolicyRequest,
    turn: Turn,
    { how, expression }: Mutation,
  ): Promise<AdmissionAttributes> {
    const { kind } = turn.matched;
    const { attributes, snapshot } = request;
    const codec = findCodec(this.#services.scheme, snapshot, kind);
    if (codec === undefined)
      throw apierrors.serviceUnavailable(`Resource kind ${kind.kind} not found.`);
    if (expression.compiled.program === undefined)
      throw new MutationError(expression.compiled.problem);
    const outcome = await (
      await this.#evaluation(request, turn)
    ).evaluate(expression, new Budget());
    if (outcome.problem !== undefined) throw new MutationError(outcome.problem);
    const object = (await request.inVersion(kind)).object as KubeObject & Record<string, unknown>;
    if (attributes.object === undefined && how !== 'jsonPatch') {
      // Upstream finds merge rules in the OpenAPI document, which has no options of connections.
      const which = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
      throw new MutationError(
        `error applying patch: failed to convert patch object to typed object: no corresponding type for ${which}`,
      );
    }
    const apply =
      how === 'jsonPatch'
        ? applyPatch
        : (...[json, value]: [typeof object, unknown]) =>
            applyConfiguration(codec.mergeType, json, value);
    const changed = apply(object, outcome.value);
    if (changed === object) return attributes;
    return this.#back(request, codec, decode(codec, changed, how === 'jsonPatch'));
  }

  /**
   * Resolves with the attributes after defaulting the changed object and converting it to the
   * request's version. Rejects with MutationError.
   */
  async #back(
    { attributes, snapshot }: PolicyRequest,
    codec: ObjectCodec,
    decoded: Record<string, unknown>,
  ): Promise<AdmissionAttributes> {
    const { kind } = codec;
    const own = attributes.kind;
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = decoded;
    const draft = {
      kind: kind.kind,
      apiVersion: apiVersionOf(kind),
      ...(attributes.object !== undefined && { metadata: metadata ?? {} }),
      ...rest,
    };
    if (apiVersionOf(kind) !== apiVersionOf(own) && snapshot.getKind(kind)?.codec === undefined) {
      // As upstream, built-in kinds are not converted here: only custom objects may be changed in
      // another version.
      throw new MutationError(
        `converting (${kind.version}.${kind.kind}) to (${own.version}.${own.kind}): unknown conversion`,
      );
    }
    codec.applyDefaults(draft);
    if (attributes.object === undefined) return { ...attributes, connectOptions: () => draft };
    const { scheme } = this.#services;
    const object = await convertVersion(
      { scheme, snapshot },
      draft as unknown as KubeObject,
      kind,
      own,
    );
    return { ...attributes, object };
  }
}

/**
 * Decodes a changed object. Throws MutationError, or InternalError for a patch, if it is not a
 * valid object of its kind.
 */
function decode(
  codec: ObjectCodec,
  json: Readonly<Record<string, unknown>>,
  strict: boolean,
): Record<string, unknown> {
  try {
    const { object, unknownFields } = codec.decode(json);
    if (!strict || unknownFields.length === 0) return object;
    const unknown = unknownFields.map((path) => `unknown field ${quote(path)}`).join(', ');
    throw apierrors.internalError(`strict decoding error: ${unknown}`);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw strict ? apierrors.internalError(error.message) : new MutationError(error.message);
  }
}

/**
 * Returns the error for the client. The first problem is its message, all problems are its causes.
 */
function denied(
  attributes: AdmissionAttributes,
  problems: readonly Problem[],
): apierrors.StatusError {
  const { status } = refusal(attributes, 'admission request denied by policy');
  const causes = problems.map(({ policy, binding, message }) => {
    const name = policy.metadata.name;
    const who =
      binding === undefined
        ? `policy ${quote(name)}`
        : `policy '${name}' with binding '${binding.metadata.name}'`;
    return { message: `${who} denied request: ${message}` };
  });
  const [first] = causes;
  return apierrors.fromStatus({
    ...status,
    message: first?.message ?? '',
    reason: problems[0]?.reason ?? 'Forbidden',
    details: { ...status.details, causes },
  });
}
