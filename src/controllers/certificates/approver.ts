// Approves kubelets' requests for client certificates, if the authorizer allows the requesting user
// to have one.

import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import {
  type CertificateRequest,
  parseCertificateRequest,
} from '#api/groups/certificates/v1/request.ts';
import {
  KUBE_API_SERVER_CLIENT_KUBELET,
  kubeletClientProblem,
} from '#api/groups/certificates/v1/signers.ts';
import { formatTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { type Request, runOnRequests } from './request-queue.ts';

/**
 * The permissions by which requests are approved, with the messages. The first that matches counts.
 */
const KINDS = [
  {
    subresource: 'selfnodeclient',
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
    /** The kubelet renews its own certificate. */
    fits: (request: Request, parsed: CertificateRequest): boolean =>
      request.spec.username === parsed.commonName,
  },
  {
    subresource: 'nodeclient',
    message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
    /** Another user requests a certificate for a node, as in bootstrapping. */
    fits: (): boolean => true,
  },
] as const;

export class CertificateApprover implements Controller {
  readonly name = 'certificatesigningrequest-approving-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.run = runOnRequests(config, {
      queue: 'certificate',
      workers: 1,
      reconcile: (request, signal) => this.#reconcile(request, signal),
    });
  }

  async #reconcile(request: Request, signal: AbortSignal): Promise<ReconcileResult> {
    if (!isOpen(request)) return reconciled;
    let parsed: CertificateRequest;
    try {
      parsed = parseCertificateRequest(request.spec.request);
    } catch (error) {
      // An earlier version with other rules stored this request. It is immutable, so retrying is
      // pointless.
      this.#config.logger.warn('certificate approver: reading a request failed', {
        request: request.metadata.name,
        err: error,
      });
      return reconciled;
    }
    if (kubeletClientProblem(parsed, request.spec.usages ?? []) !== undefined) return reconciled;
    for (const { subresource, message, fits } of KINDS) {
      if (!fits(request, parsed) || !(await this.#isAllowed(request, subresource, signal)))
        continue;
      await this.#approve(request, message, signal);
      return reconciled;
    }
    // Permissions can change at any time without an event for this request.
    return requeue;
  }

  async #isAllowed({ spec }: Request, subresource: string, signal: AbortSignal): Promise<boolean> {
    const { username = '', uid = '', groups = [], extra = {} } = spec;
    const review = await this.#config.client.resource(subjectAccessReviews).create(
      {
        metadata: {},
        spec: {
          user: username,
          ...(uid !== '' && { uid }),
          groups: [...groups],
          extra: Object.fromEntries(
            Object.entries(extra).map(([key, values]) => [key, [...values]]),
          ),
          resourceAttributes: {
            group: 'certificates.k8s.io',
            resource: 'certificatesigningrequests',
            verb: 'create',
            subresource,
            version: '*',
          },
        },
      },
      { signal },
    );
    return review.status.allowed;
  }

  async #approve(request: Request, message: string, signal: AbortSignal): Promise<void> {
    const time = formatTime(this.#config.clock.now());
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message,
      lastUpdateTime: time,
    };
    const conditions = [...(request.status.conditions ?? []), approved];
    try {
      await this.#config.client
        .resource(certificateSigningRequests)
        .subresource(
          request.metadata.name,
          'approval',
          { ...request, status: { ...request.status, conditions } },
          { method: 'PUT', signal },
        );
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }
}

/** Reports whether the request is neither approved nor denied. */
function isOpen({ spec, status: { conditions = [], certificate } }: Request): boolean {
  const decided = conditions.some(({ type }) => type === 'Approved' || type === 'Denied');
  return (
    spec.signerName === KUBE_API_SERVER_CLIENT_KUBELET && certificate === undefined && !decided
  );
}
