// Names what is built from upstream's module, so that go.mod and go.sum cover it.
package critest

import (
	_ "sigs.k8s.io/cri-tools/pkg/benchmark"
	_ "sigs.k8s.io/cri-tools/pkg/validate"
)
