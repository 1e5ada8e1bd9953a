// Asks a webhook whether the images of a pod may run. The webhook answers an ImageReview.

import { configurationSchemas } from '#api/configuration-schemas.ts';
import type { ImageReview, ImageReviewStatus } from '#api/config/imagepolicy/v1alpha1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ServerAccess } from '#client/http/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { WebhookClients } from '../../webhooks/client/index.ts';
import { kubeconfigAccess, ReviewWebhook, TtlCache } from '../../webhooks/review/index.ts';
import type { ImagePolicySettings } from '../configuration.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import type { ImmutablePod } from '../pod-defaults.ts';

interface Services {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly webhooks: Pick<WebhookClients, 'callServer'>;
}

type Status = Immutable<ImageReviewStatus>;

const API_VERSION = 'imagepolicy.k8s.io/v1alpha1';
const REVIEW = configurationSchemas.message('imagepolicy/v1alpha1.ImageReview');
/** Only annotations of pods whose names contain this are sent. */
const ANNOTATION = '.image-policy.k8s.io/';
const AUDIT_PREFIX = 'imagepolicywebhook.image-policy.k8s.io/';
const EPHEMERAL = 'ephemeralcontainers';
/** The time limit of one call, in ms. */
const TIMEOUT_MS = 30_000;
/** The number of answers that are kept. */
const CAPACITY = 1024;

export class ImagePolicyWebhook implements AdmissionPlugin {
  readonly name = 'ImagePolicyWebhook';
  readonly #settings: ImagePolicySettings | undefined;
  readonly #logger: Logger;
  readonly #webhook: ReviewWebhook;
  /** By what was sent. */
  readonly #answers: TtlCache<Status>;

  /** Without settings the plugin rejects all pods: it must not be enabled then. */
  constructor(services: Services, settings: ImagePolicySettings | undefined) {
    const { clock, logger, webhooks } = services;
    this.#settings = settings;
    this.#logger = logger;
    this.#answers = new TtlCache(clock, CAPACITY);
    this.#webhook = new ReviewWebhook({
      ...services,
      clients: webhooks,
      access:
        settings === undefined ? unconfigured : kubeconfigAccess(settings.kubeConfigFile, clock),
      kind: 'ImageReview',
      apiVersion: API_VERSION,
      message: REVIEW,
      timeoutMs: TIMEOUT_MS,
      ...(settings !== undefined && { initialBackoffMs: settings.retryBackoffMs }),
    });
  }

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      (operation === 'CREATE' || operation === 'UPDATE') &&
      resource.group === '' &&
      resource.resource === 'pods' &&
      (subresource === '' || subresource === EPHEMERAL)
    );
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object, namespace, subresource, resource, caller } = attributes;
    const { metadata, spec } = object as ImmutablePod;
    const containers =
      subresource === EPHEMERAL
        ? (spec.ephemeralContainers ?? [])
        : [...spec.containers, ...(spec.initContainers ?? [])];
    const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) =>
      name.includes(ANNOTATION),
    );
    const sent = {
      ...(containers.length > 0 && { containers: containers.map(({ image }) => ({ image })) }),
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
      namespace,
    };
    const status = await this.#statusOf(sent, attributes);
    for (const [name, value] of Object.entries(status.auditAnnotations ?? {}))
      caller?.audit?.annotate(AUDIT_PREFIX + name, value);
    if (status.allowed) return;
    const { reason = '' } = status;
    const why =
      reason === ''
        ? 'one or more images rejected by webhook backend'
        : `image policy webhook backend denied one or more images: ${reason}`;
    throw apierrors.forbidden(resource, metadata.name, why);
  }

  /** Returns the answer of the webhook. One that fails allows the pod if the settings say so. */
  async #statusOf(spec: object, attributes: AdmissionAttributes): Promise<Status> {
    const key = JSON.stringify(spec);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const { caller, resource, object } = attributes;
    try {
      const { status } = await this.#webhook.review<Immutable<ImageReview>>(
        { spec, status: { allowed: false } },
        caller === undefined ? {} : { signal: caller.signal },
      );
      const { allowTtlMs = 0, denyTtlMs = 0 } = this.#settings ?? {};
      this.#answers.set(key, status, status.allowed ? allowTtlMs : denyTtlMs);
      return status;
    } catch (error) {
      this.#logger.warn('error contacting webhook backend', { plugin: this.name, err: error });
      if (this.#settings?.defaultAllow !== true)
        throw apierrors.forbidden(resource, object?.metadata.name ?? '', errorMessage(error));
      caller?.audit?.annotate(`${AUDIT_PREFIX}failed-open`, 'true');
      return { allowed: true };
    }
  }
}

const unconfigured = (): Promise<ServerAccess> => Promise.reject(new Error('no config specified'));
