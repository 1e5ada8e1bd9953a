// Package team gives each Namespace that has the label "team" a ConfigMap that names its owner.
package team

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var namespace corev1.Namespace
	if err := r.Get(ctx, req.NamespacedName, &namespace); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	team, found := namespace.Labels["team"]
	if !found || !namespace.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "owner"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owner, func() error {
		owner.Data = map[string]string{"team": team}
		return controllerutil.SetControllerReference(&namespace, owner, r.Scheme())
	})
	return ctrl.Result{}, err
}

func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&corev1.Namespace{}).Owns(&corev1.ConfigMap{}).Complete(r)
}
