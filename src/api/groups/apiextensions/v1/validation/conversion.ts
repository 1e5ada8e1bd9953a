// Validation of the conversion between the versions of a kind. The paths are those of upstream's
// internal version: webhookClientConfig instead of webhook.clientConfig.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { clientConfig } from '../../../admissionregistration/v1/validation/client-config.ts';
import { caBundleProblem } from '../ca-bundle.ts';
import type { Conversion } from './definition.ts';

const STRATEGIES = ['None', 'Webhook'];
/** The versions of ConversionReview that servers of a cluster may support. */
const REVIEW_VERSIONS = ['v1', 'v1beta1'];

export interface ConversionOptions {
  /** Accept a list without supported versions of ConversionReview, because it had none before. */
  readonly allowUnrecognizedReviewVersions: boolean;
  /**
   * Accept an unusable CA bundle: the definition is not established, or the bundle was unusable
   * before.
   */
  readonly allowInvalidCABundle: boolean;
}

/** Reports whether one of the versions is supported, or the list is empty. */
export function hasRecognizedReviewVersion(versions: readonly string[]): boolean {
  return versions.length === 0 || versions.some((version) => REVIEW_VERSIONS.includes(version));
}

export function validateConversion(
  conversion: Conversion | undefined,
  options: ConversionOptions,
  at: FieldPath,
): FieldErrorList {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  const errors: FieldErrorList = [];
  if (strategy === '') errors.push(field.required(at.child('strategy')));
  else if (!STRATEGIES.includes(strategy))
    errors.push(field.notSupported(at.child('strategy'), strategy, STRATEGIES));
  const [clientAt, versionsAt] = [
    at.child('webhookClientConfig'),
    at.child('conversionReviewVersions'),
  ];
  const client = webhook?.clientConfig;
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (client !== undefined) errors.push(field.forbidden(clientAt, detail));
    if (versions.length > 0) errors.push(field.forbidden(versionsAt, detail));
    return errors;
  }
  if (client === undefined)
    errors.push(field.required(clientAt, 'required when strategy is set to Webhook'));
  else {
    errors.push(...clientConfig(client, clientAt));
    const { caBundle = '' } = client;
    const problem = options.allowInvalidCABundle ? undefined : caBundleProblem(caBundle);
    if (problem !== undefined)
      errors.push(field.invalid(clientAt.child('caBundle'), caBundle, problem));
  }
  return [
    ...errors,
    ...validateReviewVersions(versions, !options.allowUnrecognizedReviewVersions, versionsAt),
  ];
}

function validateReviewVersions(
  versions: readonly string[],
  requireRecognized: boolean,
  at: FieldPath,
): FieldErrorList {
  if (versions.length === 0) return [field.required(at)];
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const here = at.index(index);
    if (seen.has(version)) errors.push(field.invalid(here, version, 'duplicate version'));
    else
      errors.push(
        ...validation
          .isDNS1035Label(version)
          .map((problem) => field.invalid(here, version, problem)),
      );
    seen.add(version);
  }
  if (requireRecognized && !hasRecognizedReviewVersion(versions)) {
    errors.push(
      field.invalid(at, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`),
    );
  }
  return errors;
}
