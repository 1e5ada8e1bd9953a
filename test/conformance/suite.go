// Package conformance names what is built from upstream's module, so that go.mod and go.sum cover it; the programs that are
// no packages to import are go.mod's tools.
package conformance

import (
	_ "k8s.io/kubernetes/test/e2e"
)
