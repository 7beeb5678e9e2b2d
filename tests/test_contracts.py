from dataclasses import dataclass

from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, StandardScaler

from skdp import PrivateMean
from skdp.contracts import BoundedStatistic, Contract, Core, Released, Rows, contract_of


def test_kinds_form_an_order():
    contract = Contract(consumes=(Rows,))
    assert contract.accepts(Rows()) and contract.accepts(Core("near"))
    assert not contract.accepts(Released()) and not contract.accepts(BoundedStatistic("mean", 1.0))
    assert contract.yields(Core("near")) == Core("near")


def test_private_mean_spends_and_releases():
    contract = contract_of(PrivateMean())
    assert contract.spends and contract.accepts(Rows())
    assert isinstance(contract.yields(Rows()), Released)


def test_unknown_steps_have_no_contract():
    assert contract_of(StandardScaler()) is None
    assert contract_of(FunctionTransformer(lambda Z: Z - Z.mean(0))) is None
    assert contract_of(object()) is None
    assert contract_of(PrivateMean) is None
    assert contract_of(Binarizer()).accepts(Rows()) and contract_of(Normalizer()).accepts(Rows())


def test_a_contract_can_be_declared():
    @dataclass
    class Step:
        def __skdp_contract__(self):
            return Contract(consumes=(Released,))

    assert contract_of(Step()).accepts(Released("laplace"))
