// MutatingAdmissionWebhook: calls mutating webhooks, one after the other.

import { mutatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf, notRegistered, parseApiVersion } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { findCodec } from '#apiserver/catalog/codec.ts';
import { MutatingPlugin, subjectOf } from '../mutating-plugin.ts';
import type { AdmissionAttributes, AdmissionTarget } from '../plugin.ts';
import { convertVersion } from '../policy/conversion.ts';
import { PolicyRequest } from '../policy/request.ts';
import { Reinvocation } from '../reinvocation.ts';
import { Rounds } from '../rounds.ts';
import {
  annotateFailOpen,
  annotateMutation,
  annotatePatch,
  type CallPlace,
} from './annotations.ts';
import { callWebhook } from './call.ts';
import { WebhookConfigurations } from './configurations.ts';
import { isExempt } from './exempt.ts';
import { findInvocation, type Invocation } from './invocation.ts';
import { decided } from './outcome.ts';
import { patched, type Patched } from './patch.ts';
import type { WebhookServices } from './services.ts';

export class MutatingAdmissionWebhook extends MutatingPlugin {
  readonly name = 'MutatingAdmissionWebhook';
  readonly #services: WebhookServices;
  readonly #configurations: WebhookConfigurations;

  constructor(services: WebhookServices) {
    super();
    this.#services = services;
    this.#configurations = new WebhookConfigurations(
      services,
      mutatingWebhookConfigurations,
      'admit',
    );
  }

  concerns(target: AdmissionTarget): boolean {
    return !isExempt(target);
  }

  handles(attributes: AdmissionAttributes): boolean {
    return this.#configurations.mayApply(attributes);
  }

  /** Resolves with the attributes after all webhooks. Rejects with StatusError. */
  protected async dispatch(attributes: AdmissionAttributes): Promise<AdmissionAttributes> {
    const hooks = await this.#configurations.hooksFor(attributes);
    if (hooks.length === 0) return attributes;
    const services = this.#services;
    const rounds = Rounds.of(
      attributes.reinvocation ?? new Reinvocation(),
      this.name,
      subjectOf(attributes),
    );
    let request = new PolicyRequest(attributes, services);
    const round = attributes.reinvocation?.again === true ? 1 : 0;
    for (const [index, hook] of hooks.entries()) {
      const current = request;
      const invocation = await findInvocation(hook, current, services);
      if (invocation === undefined || !rounds.takes(hook.id)) continue;
      const place = { round, index };
      let failedOpen = true;
      const outcome = await decided(hook, current.attributes, services, async () => {
        const answer = await this.#call(invocation, current, place);
        failedOpen = false;
        return answer;
      });
      if (failedOpen) annotateFailOpen(attributes, hook, place);
      if (outcome !== undefined)
        request = new PolicyRequest(await this.#changed(current, invocation, outcome), services);
      // A decoded object has no fractions of seconds. So the first patch also changes the times
      // that this request has set, as upstream.
      const newTimes =
        outcome !== undefined && rounds.first('patch') && hasNewTimes(current.attributes);
      const changed = outcome?.changed === true || newTimes;
      rounds.done(hook.id, { changed, ifNeeded: hook.webhook.reinvocationPolicy === 'IfNeeded' });
    }
    rounds.end(subjectOf(request.attributes), false);
    return request.attributes;
  }

  async #call(
    invocation: Invocation,
    request: PolicyRequest,
    place: CallPlace,
  ): Promise<Patched | undefined> {
    const { hook, matched, objects } = invocation;
    const { attributes } = request;
    let result: Patched | undefined;
    try {
      const response = await callWebhook(invocation, request, this.#services);
      const object = objects.object as Readonly<Record<string, unknown>> | undefined;
      result = patched(hook.webhook.name, response, object, (kind) =>
        this.#codecFor(kind, request),
      );
      if (result !== undefined) annotatePatch(attributes, hook, place, result.operations);
    } finally {
      annotateMutation(attributes, hook, place, result?.changed === true);
    }
    if (result === undefined || apiVersionOf(matched.kind) === result.object['apiVersion']) {
      if (result === undefined || matched.kind.kind === result.object['kind']) return result;
    }
    const from = `${String(result.object['apiVersion'])}.${String(result.object['kind'])}`;
    throw apierrors.internalError(
      `converting (${from}) to (${apiVersionOf(matched.kind)}.${matched.kind.kind}): unknown conversion`,
    );
  }

  /** Returns the codec for a kind. Throws StatusError (500). */
  #codecFor(
    { apiVersion, kind }: { apiVersion: string; kind: string },
    { snapshot }: PolicyRequest,
  ): ObjectCodec {
    const parsed = parseApiVersion(apiVersion);
    if (parsed === undefined)
      throw apierrors.internalError(`unexpected GroupVersion string: ${apiVersion}`);
    const codec = findCodec(this.#services.scheme, snapshot, { ...parsed, kind });
    if (codec === undefined) throw apierrors.internalError(notRegistered(apiVersion, kind));
    return codec;
  }

  /**
   * Resolves with the attributes after one webhook, with the object converted to the request's
   * version.
   */
  async #changed(
    { attributes, snapshot }: PolicyRequest,
    { matched }: Invocation,
    { object }: Patched,
  ): Promise<AdmissionAttributes> {
    if (attributes.object === undefined) return { ...attributes, connectOptions: () => object };
    const { scheme } = this.#services;
    try {
      const own = await convertVersion(
        { scheme, snapshot },
        object as unknown as KubeObject,
        matched.kind,
        attributes.kind,
      );
      return { ...attributes, object: own };
    } catch (error) {
      throw apierrors.internalError(errorMessage(error));
    }
  }
}

/**
 * Reports whether the managed fields have a time that the stored object does not have, and which
 * this request has set.
 */
function hasNewTimes({ object, oldObject }: AdmissionAttributes): boolean {
  const storedTimes = new Set((oldObject?.metadata.managedFields ?? []).map(({ time }) => time));
  return (object?.metadata?.managedFields ?? []).some(({ time }) => !storedTimes.has(time));
}
