// The libraries: all of them, and the ones that Kubernetes has.

import type { Library } from '../declarations.ts';
import { authorizerLibrary } from './authorizer.ts';
import { bindingsLibrary } from './bindings.ts';
import { encoderLibrary } from './encoders.ts';
import { formatLibrary } from './format.ts';
import { ipLibrary } from './ip.ts';
import { listTransformLibrary } from './list-transforms.ts';
import { listLibrary } from './lists.ts';
import { mathLibrary } from './math.ts';
import { optionalLibrary } from './optional.ts';
import { quantityLibrary } from './quantity.ts';
import { regexLibrary } from './regex.ts';
import { semverLibrary } from './semver.ts';
import { setLibrary } from './sets.ts';
import { stringLibrary } from './strings.ts';
import { twoVariableLibrary } from './two-variables.ts';
import { urlLibrary } from './url.ts';

export { authorizerLibrary, bindingsLibrary, encoderLibrary, mathLibrary };
export { patchLibrary } from './patch.ts';

/**
 * The libraries for every expression in Kubernetes. Mutating policies have the patch library in
 * addition.
 */
export const kubernetesLibraries: readonly Library[] = [
  optionalLibrary,
  twoVariableLibrary,
  stringLibrary,
  setLibrary,
  listLibrary,
  listTransformLibrary,
  regexLibrary,
  urlLibrary,
  quantityLibrary,
  ipLibrary,
  formatLibrary,
  semverLibrary,
  authorizerLibrary,
];

/** Further libraries: cel.bind, math, base64. */
export const extraLibraries: readonly Library[] = [bindingsLibrary, mathLibrary, encoderLibrary];

export const allLibraries: readonly Library[] = [...kubernetesLibraries, ...extraLibraries];
