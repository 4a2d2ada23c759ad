"""Operations of PyTorch, watched while a guard is on in this thread."""

import functools
import sys

from .kinds import broadcast_kind

# Functions of two or three tensors that broadcast them, by name, without underscores.
_NAMES = frozenset(
    """add sub subtract rsub mul multiply div divide truediv true_divide floordiv floor_divide mod remainder fmod pow
    float_power radd rmul rdiv rtruediv rfloordiv rmod rpow iadd isub imul idiv itruediv ifloordiv imod ipow
    eq ne lt le gt ge equal not_equal less less_equal greater greater_equal isclose allclose
    and or xor rand ror rxor iand ior ixor bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor
    maximum minimum fmax fmin atan2 arctan2 hypot copysign nextafter logaddexp logaddexp2 xlogy xlog1py where
    lerp addcmul addcdiv clamp clamp_min clamp_max clip heaviside dist
    mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss gaussian_nll_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits soft_margin_loss hinge_embedding_loss margin_ranking_loss""".split()
)


# Counts how often the guards that are on have changed.
_changes = [0]
# Most places with their shapes that are remembered.
_MAX_KNOWN = 4096


def forget():
    """Notifies the modes of all threads that other guards are on."""
    _changes[0] += 1


@functools.cache
def _make_mode(torch):
    """The class of the mode, for a module torch."""
    from torch.overrides import TorchFunctionMode

    tensor = torch.Tensor

    class BroadcastMode(TorchFunctionMode):
        """Reports operations that broadcast."""

        def __init__(self, report):
            super().__init__()
            self._report = report
            # Whether a function is element-wise, by function: names are looked up once.
            self._known = {}
            # The site of a place that has been reported before with the same shapes: it has only to be counted.
            self._sites, self._change = {}, _changes[0]

        def __torch_function__(self, function, types, arguments=(), options=None):
            is_known = self._known.get(function)
            if is_known is None:
                name = getattr(function, "__name__", "")
                is_known = self._known[function] = name.strip("_") in _NAMES
            if is_known:
                if len(arguments) == 2:
                    a, b = arguments
                    # Most operations are of a scalar, or of equal shapes.
                    if isinstance(b, tensor) and isinstance(a, tensor):
                        shape, other = a.shape, b.shape
                        if shape != other:
                            frame = sys._getframe(1)
                            place = id(frame.f_code), frame.f_lasti, shape, other
                            site = self._sites.get(place)
                            if site is None or self._change != _changes[0]:
                                self._look_at(function, arguments, (shape, other), place)
                            else:
                                site.count += 1
                elif len(arguments) > 2:
                    shapes = [each.shape if isinstance(each, tensor) else () for each in arguments]
                    self._look_at(function, arguments, shapes)
            return function(*arguments, **options) if options else function(*arguments)

        def _look_at(self, function, arguments, shapes, place=None):
            found = broadcast_kind(*shapes)
            if found is None:
                return
            kind, i, j = found
            site = self._report(kind, function, i, j, arguments[i], arguments[j])
            if site is not None and place is not None:
                if self._change != _changes[0] or len(self._sites) >= _MAX_KNOWN:
                    self._sites, self._change = {}, _changes[0]
                self._sites[place] = site

    return BroadcastMode


def start(torch, report):
    """Pushes a mode for this thread; returns what stop needs."""
    mode = _make_mode(torch)(report)
    mode.__enter__()
    return mode


def stop(mode):
    """Removes a mode, even where others were pushed after it."""
    from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode

    if mode not in _get_current_function_mode_stack():
        return
    above = []
    while (top := _pop_mode()) is not mode:
        above.append(top)
    for each in reversed(above):
        _push_mode(each)
