// Signs approved certificate requests with the cluster's authority, for the built-in signers of
// Kubernetes.

import { errorMessage } from '#machinery/error-message.ts';
import { X509Certificate } from 'node:crypto';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import {
  type CertificateRequest,
  parseCertificateRequest,
} from '#api/groups/certificates/v1/request.ts';
import {
  KUBE_API_SERVER_CLIENT,
  KUBE_API_SERVER_CLIENT_KUBELET,
  KUBELET_SERVING,
  kubeletClientProblem,
  kubeletServingProblem,
} from '#api/groups/certificates/v1/signers.ts';
import { formatTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { type Request, runOnRequests } from './request-queue.ts';
import { type Authority, makeCertificate } from './x509.ts';

export interface CertificateSignerConfig extends ControllerConfig {
  readonly authority: Authority;
  /** The default and maximum lifetime of certificates, in milliseconds. Default: 365 days. */
  readonly maxDurationMs?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MIN_DURATION_MS = 10 * MINUTE_MS;
/**
 * Certificates are valid from five minutes ago, because clocks differ. A certificate with a
 * lifetime below SHORT_MS gets its whole lifetime, counted from now.
 */
const BACKDATE_MS = 5 * MINUTE_MS;
const SHORT_MS = 8 * 60 * MINUTE_MS;

export class CertificateSigner implements Controller {
  readonly name = 'certificatesigningrequest-signing-controller';
  readonly run: Controller['run'];
  readonly #config: CertificateSignerConfig;

  constructor(config: CertificateSignerConfig) {
    this.#config = config;
    this.run = runOnRequests(config, {
      queue: 'certificate_signing',
      workers: 5,
      reconcile: (request, signal) => this.#reconcile(request, signal),
    });
  }

  async #reconcile(request: Request, signal: AbortSignal): Promise<ReconcileResult> {
    if (!isToBeSigned(request)) return reconciled;
    const { signerName, usages = [] } = request.spec;
    const problemOf = PROBLEMS[signerName];
    if (problemOf === undefined) return reconciled;
    const { status } = request;
    const { parsed, error } = readRequest(request);
    const problem = parsed === undefined ? error : problemOf(parsed, usages ?? []);
    if (parsed !== undefined && problem === undefined) {
      const certificate = Buffer.from(this.#sign(request, parsed)).toString('base64');
      await this.#writeStatus(request, { ...status, certificate }, signal);
      return reconciled;
    }
    const failed = {
      type: 'Failed' as const,
      status: 'True' as const,
      reason: 'SignerValidationFailure',
      message: problem,
      lastUpdateTime: formatTime(this.#config.clock.now()),
      // The API server sets it.
      lastTransitionTime: null,
    };
    await this.#writeStatus(
      request,
      { ...status, conditions: [...(status.conditions ?? []), failed] },
      signal,
    );
    return reconciled;
  }

  #sign({ spec }: Request, parsed: CertificateRequest): string {
    const { authority, clock, random, maxDurationMs = 365 * DAY_MS } = this.#config;
    const wanted =
      spec.expirationSeconds === undefined ? maxDurationMs : spec.expirationSeconds * 1000;
    const durationMs = Math.min(
      Math.max(wanted, Math.min(MIN_DURATION_MS, maxDurationMs)),
      maxDurationMs,
    );
    const now = clock.now();
    const notAfterMs = now + durationMs - (durationMs < SHORT_MS ? 0 : BACKDATE_MS);
    return makeCertificate(authority, {
      request: parsed,
      usages: spec.usages ?? [],
      serialNumber: random.bytes(16),
      notBeforeMs: now - BACKDATE_MS,
      // No certificate outlasts the certificate of its issuer.
      notAfterMs: Math.min(notAfterMs, Date.parse(new X509Certificate(authority.cert).validTo)),
    });
  }

  /**
   * Writes the status. A request that has changed meanwhile is reconciled again when the cache
   * shows the change.
   */
  async #writeStatus(
    request: Request,
    status: Request['status'],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#config.client
        .resource(certificateSigningRequests)
        .updateStatus({ ...request, status }, { signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }
}

type ReadRequest =
  | { readonly parsed: CertificateRequest; readonly error?: undefined }
  | { readonly parsed?: undefined; readonly error: string };

/**
 * Parses a stored request. Throws a permanent error for a request that an earlier version accepted
 * by other rules: it is failed instead of retried.
 */
function readRequest({ spec }: Request): ReadRequest {
  try {
    return { parsed: parseCertificateRequest(spec.request) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

/** Reports whether the request is approved, and neither signed nor failed nor denied. */
function isToBeSigned({ status: { conditions = [], certificate } }: Request): boolean {
  const is = (type: string): boolean =>
    conditions.some((each) => each.type === type && each.status === 'True');
  return certificate === undefined && is('Approved') && !is('Denied') && !is('Failed');
}

type ProblemOf = (request: CertificateRequest, usages: readonly string[]) => string | undefined;

/**
 * By signer: returns why it does not sign a request. Signers that are missing here belong to other
 * controllers; kubernetes.io/legacy-unknown accepts no new requests.
 */
const PROBLEMS: Readonly<Record<string, ProblemOf | undefined>> = {
  [KUBE_API_SERVER_CLIENT]: (_, usages) => clientUsageProblem(usages),
  [KUBE_API_SERVER_CLIENT_KUBELET]: kubeletClientProblem,
  [KUBELET_SERVING]: kubeletServingProblem,
};

function clientUsageProblem(usages: readonly string[]): string | undefined {
  const wrong = usages.find(
    (usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage),
  );
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}
