// Deletes certificate requests that are no longer needed: the requester reads the outcome soon, and
// an expired certificate has no use.

import { X509Certificate } from 'node:crypto';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { type Request, runOnRequests } from './request-queue.ts';

const HOUR_MS = 3_600_000;
const DECIDED_MS = HOUR_MS;
/** Applies also to approved requests that are never signed. */
const PENDING_MS = 24 * HOUR_MS;

export class CertificateCleaner implements Controller {
  readonly name = 'certificatesigningrequest-cleaner-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.run = runOnRequests(config, {
      queue: 'certificate_cleaner',
      workers: 1,
      reconcile: (request, signal) => this.#reconcile(request, signal),
    });
  }

  async #reconcile(request: Request, signal: AbortSignal): Promise<ReconcileResult> {
    const left = deadlineOf(request) - this.#config.clock.now();
    if (left > 0) return requeueAfter(left);
    const { name, uid } = request.metadata;
    try {
      await this.#config.client
        .resource(certificateSigningRequests)
        .delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }
}

/** Returns when the request is to be deleted, in milliseconds since the epoch. */
function deadlineOf({ metadata, status: { conditions = [], certificate } }: Request): number {
  const deadlines = conditions.map(({ type, lastUpdateTime }) => {
    const since = parseTime(lastUpdateTime) ?? 0;
    return since + (type === 'Approved' && certificate === undefined ? PENDING_MS : DECIDED_MS);
  });
  if (conditions.length === 0)
    deadlines.push((parseTime(metadata.creationTimestamp) ?? 0) + PENDING_MS);
  if (certificate !== undefined)
    deadlines.push(Date.parse(new X509Certificate(Buffer.from(certificate, 'base64')).validTo));
  return Math.min(...deadlines);
}
